// Two thousand articles are one operation: the tag "name" is its name. A threshold may be of that operation alone.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = {
  vus: 3,
  duration: "5s",
  thresholds: { "http_req_duration{name:article}": ["p(90)<2000"] },
};

export default function () {
  const id = 1 + Math.floor(Math.random() * 2000);
  const article = http.get(`${__ENV.BASE_URL}/articles/${id}?from=list`, {
    tags: { name: "article", section: "news" },
  });
  http.get(`${__ENV.BASE_URL}/articles`);
  check(article, { "article has a text": (r) => r.body.length > 10 }, { section: "news" });
  sleep(0.52);
}
