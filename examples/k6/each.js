// The executor per-vu-iterations: each user does the same number of iterations.
import http from "k6/http";
import { check } from "k6";

export const options = {
  scenarios: {
    each: { executor: "per-vu-iterations", vus: 4, iterations: 25, maxDuration: "20s" },
  },
};

export default function () {
  const answer = http.get(`${__ENV.BASE_URL}/users/${__VU}/visits/${__ITER}`);
  check(answer, { "iterations count from 0": () => __ITER >= 0 && __ITER < 25 });
}
