// The recording, as har-to-k6 converts it, with a load of one's own around it.
export { default } from "./recording.js";

export const options = { vus: 2, duration: "5s" };
