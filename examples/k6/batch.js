// A page and its parts, as a batch: a list whose answers have the places of their requests, and an object whose
// answers have their names.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { vus: 2, duration: "5s" };

const base = __ENV.BASE_URL;

export default function () {
  const parts = http.batch([
    ["GET", `${base}/style.css`],
    ["GET", `${base}/code.js`, null, { tags: { name: "code" } }],
    { method: "POST", url: `${base}/seen`, body: { page: "front" } },
  ]);
  check(parts, { "three answers": (list) => list.length === 3 && list.every((r) => r.status === 200) });
  const pictures = http.batch({ head: `${base}/head.png`, foot: `${base}/foot.png` });
  check(pictures.foot, { "picture is there": (r) => r.status === 200 });
  sleep(0.52);
}
