// The self-hoster's user of scripts/locustfile.py as a script: the same load, and the ledger knows each post. The bot's
// token is the secret PLIMSOLL_BOT_TOKEN, and CHANNEL comes from workload.params or the environment.
import http from "k6/http";
import { sleep } from "k6";
import { ledger } from "plimsoll";

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ";
export const channel = __ENV.CHANNEL;
export const bot = { Authorization: `Bearer ${__ENV.PLIMSOLL_BOT_TOKEN}` };
const pick = () => alphabet[Math.floor(Math.random() * alphabet.length)];
const text = (n) => Array.from({ length: n }, pick).join("");
const wait = () => sleep(4 + 2 * Math.random());
let files = 0;

function send(path, body, type, name) {
  const headers = { ...bot, "Content-Type": type };
  return http.post(`${__ENV.BASE_URL}/api/v4/${path}`, body, { headers, tags: { name } });
}

function create(post) {
  ledger.sending("", channel);
  const r = send("posts", JSON.stringify({ channel_id: channel, ...post }), "application/json", "post");
  if (r.status === 201) ledger.sent(r.json("id"), channel);
}

function message() {
  create({ message: "Test message: " + text(10) });
  wait();
}

function upload() {
  files++;
  const part = `Content-Disposition: form-data; name="files"; filename="test_${files}.txt"\r\nContent-Type: text/plain`;
  const body = `--edge\r\n${part}\r\n\r\nTest file ${files}\n${text(100)}\r\n--edge--\r\n`;
  const r = send(`files?channel_id=${channel}`, body, "multipart/form-data; boundary=edge", "upload");
  if (r.status === 201) create({ message: `File upload test ${files}`, file_ids: [r.json().file_infos[0].id] });
  wait();
}

export const actions = { message: { weight: 24, run: message }, upload: { weight: 1, run: upload } };

export function audit(channel, ids) {
  return ids.filter((id) => http.get(`${__ENV.BASE_URL}/api/v4/posts/${id}`, { headers: bot }).status === 200);
}
