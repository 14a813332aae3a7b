// The id in one answer is in the path of the next request.
import http from "k6/http";
import { check, fail, sleep } from "k6";

export const options = { vus: 3, duration: "5s" };

const api = `${__ENV.BASE_URL}/api/v4`;
const params = { headers: { "Content-Type": "application/json", Authorization: "Bearer ann" } };

export default function () {
  const message = `iteration ${__ITER} of user ${__VU}`;
  const made = http.post(`${api}/posts`, JSON.stringify({ channel_id: "town", message }), params);
  if (!check(made, { "post is made": (r) => r.status === 201 && r.json("message") === message })) {
    fail(`no post: status ${made.status}`);
  }
  const id = made.json("id");
  const read = http.get(`${api}/posts/${id}`, { ...params, tags: { name: "read a post" } });
  check(read, { "it is that post": (r) => r.json("id") === id });
  const gone = http.del(`${api}/posts/${id}`, null, { ...params, tags: { name: "delete a post" } });
  check(gone, { "post is gone": (r) => r.status === 200 });
  sleep(0.52);
}
