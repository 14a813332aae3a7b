// A page is fetched about twice a second by each of four users, and three checks look at the answer.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { vus: 4, duration: "5s" };

const base = __ENV.BASE_URL;

export default function () {
  const page = http.get(`${base}/`);
  check(page, {
    "status is 200": (r) => r.status === 200,
    "body is there": (r) => r.body.length > 0,
    "answer is quick": (r) => r.timings.duration < 2000,
  });
  sleep(0.52);
}
