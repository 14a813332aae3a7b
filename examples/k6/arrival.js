// The executor constant-arrival-rate: so many iterations begin each second, however long one takes.
import http from "k6/http";
import { check } from "k6";

export const options = {
  scenarios: {
    visits: {
      executor: "constant-arrival-rate",
      rate: 40,
      timeUnit: "1s",
      duration: "5s",
      preAllocatedVUs: 20,
    },
  },
};

export default function () {
  const page = http.get(`${__ENV.BASE_URL}/visit`);
  check(page, { "status is 200": (r) => r.status === 200 });
}
