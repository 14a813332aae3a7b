// A cookie that an answer sets goes with the requests behind it. Each iteration begins with an empty jar, and a script
// may put a cookie into it, or send one with a single request.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { vus: 3, duration: "5s" };

const base = __ENV.BASE_URL;

export default function () {
  const before = http.get(`${base}/cookies`);
  http.get(`${base}/cookies/set?flavor=oat`);
  const after = http.get(`${base}/cookies`);
  check(before, { "jar is empty at first": (r) => Object.keys(r.json()).length === 0 });
  check(after, { "cookie came back": (r) => r.json("flavor") === "oat" });

  http.cookieJar().set(base, "size", "large");
  check(http.get(`${base}/cookies`), { "two cookies": (r) => r.json("size") === "large" && r.json("flavor") === "oat" });
  const single = http.get(`${base}/cookies`, { cookies: { flavor: { value: "rye", replace: true } } });
  check(single, { "own cookie wins": (r) => r.json("flavor") === "rye" });
  sleep(0.52);
}
