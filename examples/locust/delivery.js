// poster.js, and a WebSocket of each user that stays open: the ledger then has deliveries, losses and order too.
import { ledger, user } from "plimsoll";
import { actions as posting, audit, bot, channel } from "./poster.js";

const url = `${__ENV.BASE_URL.replace("http", "ws")}/api/v4/websocket`;
let socket;

function listen() {
  ledger.join(channel);
  socket = user.socket(url, {
    headers: bot,
    message(text) {
      if (!text.includes('"posted"')) return;
      const post = JSON.parse(JSON.parse(text).data.post);
      ledger.seen(post.id, post.channel_id);
    },
  });
}

const listening = ({ weight, run }) => ({
  weight,
  run() {
    if (!socket) listen();
    run();
  },
});

export const actions = { message: listening(posting.message), upload: listening(posting.upload) };
export { audit };
