// Parameters of a request: a timeout, redirects, the kind of body, which statuses are no failure; and forms.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { vus: 2, duration: "5s" };

const base = __ENV.BASE_URL;

export default function () {
  const there = http.get(`${base}/redirect/2`, { tags: { name: "redirected" } });
  check(there, { "redirects are followed": (r) => r.status === 200 && r.url.endsWith("/redirect/0") });
  const first = http.get(`${base}/redirect/2`, { redirects: 0, tags: { name: "not redirected" } });
  check(first, { "or not": (r) => r.status === 302 && r.headers["Location"] === "/redirect/1" });

  const slow = http.get(`${base}/slow?ms=3000`, { timeout: "300ms", tags: { name: "slow" } });
  check(slow, { "slow answer is given up": (r) => r.status === 0 && r.error !== "" && r.error_code !== 0 });

  const none = http.get(`${base}/status/200`, { responseType: "none" });
  check(none, { "no body": (r) => r.body === null });
  const bytes = http.get(`${base}/status/200`, { responseType: "binary" });
  check(bytes, { "body is bytes": (r) => r.body.byteLength === 2 });

  const expected = http.expectedStatuses({ min: 200, max: 299 }, 404);
  const missing = http.get(`${base}/status/404`, { responseCallback: expected, tags: { name: "missing" } });
  check(missing, { "missing is no surprise": (r) => r.status === 404 });

  const form = http.post(`${base}/form`, { name: "ann", town: "São Tomé" }, { headers: { "X-Way": "form" } });
  check(form, { "form came through": (r) => r.json("town") === "São Tomé" && r.json("way") === "form" });
  const put = http.put(`${base}/form`, "name=bob", { headers: { "Content-Type": "application/x-www-form-urlencoded" } });
  check(put, { "put as well": (r) => r.json("name") === "bob" && r.request.method === "PUT" });
  sleep(0.75);
}
