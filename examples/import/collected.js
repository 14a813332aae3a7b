// The collection, as postman-to-k6 converts it, once in half a second by each of two users.
import { sleep } from "k6";
import visit from "./collection.js";

export const options = { vus: 2, duration: "5s" };

export default function () {
  visit();
  sleep(0.52);
}
