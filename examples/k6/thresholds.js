// Thresholds become rules. Each third page is missing, so those on errors and on checks do not hold; the one on
// latency does.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = {
  vus: 2,
  duration: "5s",
  thresholds: {
    http_req_duration: ["p(95)<2000"],
    http_req_failed: ["rate<0.1"],
    checks: ["rate>0.9"],
  },
};

export default function () {
  const page = http.get(`${__ENV.BASE_URL}/status/${__ITER % 3 === 2 ? 404 : 200}`, {
    tags: { name: "page" },
  });
  check(page, { "page is found": (r) => r.status === 200 });
  sleep(0.52);
}
