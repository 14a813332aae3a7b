// A WebSocket for one iteration: five texts are sent, each comes back, and the script closes the socket.
import ws from "k6/ws";
import { check, sleep } from "k6";

export const options = { vus: 2, duration: "5s" };

const url = __ENV.BASE_URL.replace("http", "ws") + "/echo";

export default function () {
  let back = 0;
  const answer = ws.connect(url, { headers: { "X-Test": "echo" } }, (socket) => {
    socket.on("open", () => socket.send("text 0"));
    socket.on("message", (text) => {
      check(text, { "text comes back": (t) => t === `text ${back}` });
      back++;
      if (back === 5) {
        socket.close();
        return;
      }
      socket.setTimeout(() => socket.send(`text ${back}`), 20);
    });
    socket.on("error", (e) => check(null, { "no error": () => false }));
    socket.setTimeout(() => socket.close(), 10000);
  });
  check(answer, { "handshake": (r) => r && r.status === 101 });
  check(back, { "five came back": (n) => n === 5 });
  sleep(1);
}
