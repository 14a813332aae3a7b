// The executor constant-vus: so many users for so long.
import http from "k6/http";
import { sleep } from "k6";

export const options = {
  scenarios: { steady: { executor: "constant-vus", vus: 6, duration: "5s" } },
};

export default function () {
  http.get(`${__ENV.BASE_URL}/steady`);
  sleep(0.32);
}
