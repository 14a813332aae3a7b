// poster.js, and a WebSocket of each user that stays open: the ledger then has deliveries, losses and order too. At the
// end the bot, or the administrator, reads which posts are there.
import http from "k6/http";
import { ledger, user } from "plimsoll";
import { actions as posting } from "./poster.js";
export { setup } from "./place.js";

const api = `${__ENV.BASE_URL}/api/v4`;
let socket;

function listen(place) {
  ledger.join(place.channel);
  socket = user.socket(`${api.replace("http", "ws")}/websocket`, {
    headers: { Authorization: `Bearer ${place.token}` },
    message(text) {
      if (!text.includes('"posted"')) return;
      const post = JSON.parse(JSON.parse(text).data.post);
      ledger.seen(post.id, post.channel_id);
    },
  });
}

const listening = ({ weight, run }) => ({
  weight,
  run(user, place) {
    if (!socket) listen(place);
    run(user, place);
  },
});

export const actions = { message: listening(posting.message), upload: listening(posting.upload) };

export function audit(channel, ids) {
  const login = { login_id: __ENV.PLIMSOLL_ADMIN || "sysadmin", password: __ENV.PLIMSOLL_ADMIN_PASSWORD };
  const token =
    __ENV.PLIMSOLL_BOT_TOKEN || http.post(`${api}/users/login`, JSON.stringify(login)).headers["Token"];
  const headers = { Authorization: `Bearer ${token}` };
  return ids.filter((id) => http.get(`${api}/posts/${id}`, { headers }).status === 200);
}
