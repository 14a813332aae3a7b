// The chat of rooms: each user keeps one WebSocket, is in a room with MEMBERS others, says something
// every few seconds and now and then reads the history.
import {sleep} from "k6";
import {ledger, user} from "plimsoll";

const room = "r" + Math.floor(user.rank / Number(__ENV.MEMBERS || 20));
const text = "a line of the length that lines in a chat have";
let socket, said = 0;

function connect(name) {
  socket = user.socket(`/rooms?name=${name}`, {
    open(s) { s.send(JSON.stringify({do: "join", room})); }, // again after each break
    message(text) {
      const m = JSON.parse(text);
      if (m.on === "joined") ledger.join(m.room);
      if (m.on === "said") ledger.seen(m.id, m.room, m.ref);
    },
    close() { ledger.leave(room); },
  });
}

function ask(name, request, answer) {
  return socket.ask(name, JSON.stringify(request), (text) => answer(JSON.parse(text)));
}

const history = (room, after) =>
  ask("history", {do: "history", room, after}, (m) => m.on === "history" && m.room === room && m.ids);

function arrive() {
  if (!socket) connect("u" + user.id);
  sleep(8 * Math.random() + 1);
}

export const actions = {
  say: {weight: 9, run() {
    arrive();
    const ref = `${user.id}-${said++}`;
    ledger.sending(ref, room);
    const m = ask("say", {do: "say", room, text, ref}, (m) => m.ref === ref && m);
    if (m) ledger.sent(m.id, room);
  }},
  history: {weight: 1, run() {
    arrive();
    history(room, "");
  }},
};

export function audit(channel, ids) {
  if (!socket) connect("audit");
  ask("join", {do: "join", room: channel}, (m) => m.on === "joined" && m.room === channel);
  const there = [];
  for (let page = history(channel, ""); page && page.length > 0;
    page = history(channel, page[page.length - 1])) there.push(...page);
  return there;
}
