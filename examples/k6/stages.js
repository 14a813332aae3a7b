// Users come, stay and go.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = {
  stages: [
    { duration: "2s", target: 10 },
    { duration: "4s", target: 10 },
    { duration: "2s", target: 0 },
  ],
};

export default function () {
  const page = http.get(`${__ENV.BASE_URL}/`);
  check(page, { "status is 200": (r) => r.status === 200 });
  sleep(0.25);
}
