// Login: a token for a cookie that scripts cannot read.

import { useSignal } from "@preact/signals";
import { Field } from "./asked";
import { post, reason, type Session } from "./api";
import { look, session } from "./state";

export function Login() {
  const token = useSignal(""),
    said = useSignal(""),
    busy = useSignal(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    busy.value = true;
    try {
      session.value = await post<Session>("/api/login", { token: token.value.trim() });
      await look();
    } catch (e) {
      said.value = reason(e);
    }
    busy.value = false;
  };
  return (
    <main class="login">
      <h1>Plimsoll</h1>
      <form class="control" onSubmit={submit} aria-label="Log in">
        <p>
          This console needs a token. It stands in the token file of <code>plimsoll serve</code>.
        </p>
        <Field label="Token" value={token} type="password" required autoComplete="current-password" maxLength={512} />
        <button type="submit" disabled={busy.value}>
          Log in
        </button>
        <p class="said bad" role="alert">
          {said.value}
        </p>
      </form>
    </main>
  );
}

export async function logout(): Promise<void> {
  try {
    session.value = await post<Session>("/api/logout", {});
  } catch {
    /* the next request tells */
  }
}
