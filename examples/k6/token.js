// setup logs in once; each user has the token by the argument of its function. teardown gives it back.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { vus: 4, duration: "5s" };

const api = `${__ENV.BASE_URL}/api/v4`;

export function setup() {
  const body = JSON.stringify({ login_id: "ann", password: "not checked" });
  const session = http.post(`${api}/users/login`, body, {
    headers: { "Content-Type": "application/json" },
  });
  check(session, { "session is open": (r) => r.status === 200 && r.json("username") === "ann" });
  return { token: session.headers["Token"], id: session.json("id") };
}

export default function (session) {
  const me = http.get(`${api}/users/me`, {
    headers: { Authorization: `Bearer ${session.token}` },
  });
  check(me, { "it is ann": (r) => r.json().id === session.id });
  sleep(0.52);
}

export function teardown(session) {
  http.post(`${api}/users/logout`, null, { headers: { Authorization: `Bearer ${session.token}` } });
}
