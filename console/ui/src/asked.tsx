// What views share: asking the server again and again, and the fields of forms.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { get, reason } from "./api";

export interface Asked<T> {
  value: T | null; // the last answer, also while the next one is on its way
  trouble: string; // why the last request failed
}

// useAsked asks at once, `wait` ms after each change of `of`, and `every` so many ms until an answer satisfies `until`.
// What comes after the view is gone is forgotten.
export function useAsked<T>(
  ask: () => Promise<T>,
  of: unknown[],
  { wait = 0, every = 0, until }: { wait?: number; every?: number; until?: (answer: T) => boolean } = {},
): Asked<T> {
  const value = useSignal<T | null>(null),
    trouble = useSignal("");
  useEffect(() => {
    let gone = false,
      timer = 0;
    const go = async () => {
      try {
        const v = await ask();
        if (!gone) {
          value.value = v;
          trouble.value = "";
          if (until?.(v)) return;
        }
      } catch (e) {
        if (!gone) trouble.value = reason(e);
      }
      if (every && !gone) timer = window.setTimeout(go, every);
    };
    if (wait) timer = window.setTimeout(go, wait);
    else void go();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, of);
  return { value: value.value, trouble: trouble.value };
}

// useGet asks for a path, and again when `moment` changes.
export const useGet = <T,>(path: string, moment?: unknown, every = 0): Asked<T> =>
  useAsked(() => get<T>(path), [path, moment, every], { every });

// Waiting says that the server is asked, or why it has no answer.
export const Waiting = ({ what, trouble, asking }: { what: string; trouble: string; asking: string }) => (
  <p class={trouble ? "alert" : "soft"}>{trouble ? `${what}: ${trouble}.` : asking}</p>
);

interface Input {
  type: "number" | "search" | "password";
  required?: boolean;
  min?: string;
  max?: string;
  maxLength?: number;
  placeholder?: string;
  autoComplete?: "current-password";
}

// Field is an input with its label; what is typed goes into the signal.
export const Field = ({ label, value, ...rest }: { label: string; value: Signal<string> } & Input) => (
  <label class={rest.type === "search" ? "filter" : ""}>
    {label}{" "}
    <input
      value={value.value}
      onInput={e => {
        value.value = e.currentTarget.value;
      }}
      {...(rest as { type: "number" })} // the types know no union of types
    />
  </label>
);

export interface Option {
  value: string;
  text: string;
  disabled?: boolean;
}

// Choice is a list to choose from, with its label; the choice goes into the signal.
export const Choice = ({
  label,
  value,
  at = value.value,
  options,
  required,
}: {
  label: ComponentChildren;
  value: Signal<string>;
  at?: string; // what is chosen, where it is not the signal's value
  options: Option[];
  required?: boolean;
}) => (
  <label>
    {label}{" "}
    <select
      value={at}
      required={required}
      onChange={e => {
        value.value = e.currentTarget.value;
      }}>
      {options.map(o => (
        <option key={o.value} value={o.value} disabled={o.disabled}>
          {o.text}
        </option>
      ))}
    </select>
  </label>
);
