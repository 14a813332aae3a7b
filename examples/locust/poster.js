// The self-hoster's user of scripts/locustfile.py as a script: the same load, and the ledger knows each post.
import http from "k6/http";
import { sleep } from "k6";
import { ledger } from "plimsoll";
export { setup } from "./place.js";

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ";
function text(n) {
  let s = "";
  while (s.length < n) s += alphabet[Math.floor(Math.random() * alphabet.length)];
  return s;
}
const wait = () => sleep(4 + 2 * Math.random());
let files = 0;

function send(place, path, body, type, name) {
  const headers = { Authorization: `Bearer ${place.token}`, "Content-Type": type };
  return http.post(`${__ENV.BASE_URL}/api/v4/${path}`, body, { headers, tags: { name } });
}

function create(place, post) {
  ledger.sending("", place.channel);
  const body = JSON.stringify({ channel_id: place.channel, ...post });
  const r = send(place, "posts", body, "application/json", "post");
  if (r.status === 201) ledger.sent(r.json("id"), place.channel);
}

function message(user, place) {
  create(place, { message: "Test message: " + text(10) });
  wait();
}

function upload(user, place) {
  files++;
  const part = `Content-Disposition: form-data; name="files"; filename="test_${files}.txt"\r\nContent-Type: text/plain`;
  const body = `--edge\r\n${part}\r\n\r\nTest file ${files}\n${text(100)}\r\n--edge--\r\n`;
  const path = `files?channel_id=${place.channel}`;
  const r = send(place, path, body, "multipart/form-data; boundary=edge", "upload");
  if (r.status === 201) {
    create(place, { message: `File upload test ${files}`, file_ids: [r.json().file_infos[0].id] });
  }
  wait();
}

export const actions = { message: { weight: 24, run: message }, upload: { weight: 1, run: upload } };
