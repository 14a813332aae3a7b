// Data of files: one copy for all users by SharedArray, and a text by open. Paths count from this file.
import http from "k6/http";
import { check, sleep } from "k6";
import { SharedArray } from "k6/data";

export const options = { vus: 3, duration: "5s" };

const people = new SharedArray("people", () => JSON.parse(open("./data/people.json")));
const terms = open("./data/terms.csv").trim().split("\n").slice(1).map((line) => line.split(","));

export default function () {
  const person = people[__ITER % people.length];
  const [term, category] = terms[__ITER % terms.length];
  const found = http.get(`${__ENV.BASE_URL}/search?q=${encodeURIComponent(term)}&in=${category}&by=${person.name}`);
  check(found, { "search answers": (r) => r.status === 200 });
  check(people, { "three people": (list) => list.length === 3 && person.city.length === 4 });
  sleep(0.52);
}
