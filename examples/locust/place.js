// The place of the posters: those that CHANNEL and PLIMSOLL_BOT_TOKEN name, or a new channel and a bot in it, made by
// the administrator.
import http from "k6/http";
import { fail } from "k6";

function call(path, body, token) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const r = http.post(`${__ENV.BASE_URL}/api/v4/${path}`, JSON.stringify(body), { headers });
  if (r.status < 200 || r.status > 299) fail(`${path}: status ${r.status}: ${r.error || r.body}`);
  return r;
}

export function setup() {
  if (__ENV.CHANNEL) return { channel: __ENV.CHANNEL, token: __ENV.PLIMSOLL_BOT_TOKEN };
  const login = { login_id: __ENV.PLIMSOLL_ADMIN || "sysadmin", password: __ENV.PLIMSOLL_ADMIN_PASSWORD };
  const admin = call("users/login", login).headers["Token"];
  const make = (path, body) => call(path, body, admin).json();
  // A name that begins with "post" is reserved.
  const name = `load-${Date.now()}`;
  const team = make("teams", { name, display_name: name, type: "O" }).id;
  const channel = make("channels", { team_id: team, name, display_name: name, type: "O" }).id;
  const bot = make("bots", { username: name }).user_id;
  make(`teams/${team}/members`, { team_id: team, user_id: bot });
  make(`channels/${channel}/members`, { user_id: bot });
  return { channel, token: make(`users/${bot}/tokens`, { description: name }).token };
}
