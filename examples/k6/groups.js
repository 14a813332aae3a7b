// Groups time a user's way through a site; a group may stand within another.
import http from "k6/http";
import { check, group, sleep } from "k6";

export const options = { vus: 3, duration: "5s" };

const base = __ENV.BASE_URL;

export default function () {
  group("arrive", () => {
    check(http.get(`${base}/welcome`), { "welcome is shown": (r) => r.status === 200 });
    group("look around", () => {
      http.get(`${base}/news`);
      http.get(`${base}/contact`);
    });
  });
  group("leave", () => {
    check(http.get(`${base}/bye`), { "bye is shown": (r) => r.status === 200 });
  });
  sleep(0.52);
}
