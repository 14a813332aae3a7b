// The executor shared-iterations: the users take from one heap until it is empty.
import http from "k6/http";

export const options = {
  scenarios: {
    heap: { executor: "shared-iterations", vus: 5, iterations: 200, maxDuration: "20s" },
  },
};

export default function () {
  http.get(`${__ENV.BASE_URL}/heap`);
}
