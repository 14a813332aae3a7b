// TypeScript, and a module of the same directory.
import { check, sleep } from "k6";
import type { Options } from "k6/options";
import { item, pick, type Item } from "./lib/shop.ts";

export const options: Options = { vus: 2, duration: "5s" };

const items: Item[] = [1, 2, 3].map((id) => ({ id, label: `item ${id}` }));

export default function (): void {
  const wanted = pick(items, __ITER);
  check(item(__ENV.BASE_URL, wanted.id), { "item is there": (r) => r.status === 200 });
  sleep(0.52);
}
