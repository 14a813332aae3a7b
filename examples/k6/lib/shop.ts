import http, { type RefinedResponse, type ResponseType } from "k6/http";

export interface Item {
  id: number;
  label: string;
}

export function item(base: string, id: number): RefinedResponse<ResponseType | undefined> {
  return http.get(`${base}/items/${id}`, { tags: { name: "item" } });
}

export const pick = (items: readonly Item[], n: number): Item => items[n % items.length];
