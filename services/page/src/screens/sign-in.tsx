/** The request for a credential, once per browser session. */

import { useState } from "preact/hooks";
import { ApiError, messageOf, send } from "../api/client";
import { credential, credentialHeader, signIn, signInReason } from "../api/session";
import { loadGraphs } from "../graphs";
import { Button, Field, Notice } from "../parts/basics";
import { Logo } from "../parts/shell";

export function SignIn() {
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState(credential.value ? `The credential was refused: ${signInReason.value ?? ""}` : "");
  const [isBusy, setBusy] = useState(false);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    credential.value = "";
    try {
      await send("v1/graphs?limit=1", { headers: credentialHeader(secret.trim()) });
      signIn(secret.trim());
      await loadGraphs();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) setProblem(`The credential was refused: ${error.message}`);
      else if (error instanceof ApiError && error.status === 429) setProblem("Too many attempts. Wait a minute, then try again.");
      else setProblem(messageOf(error));
      setSecret("");
    } finally {
      setBusy(false);
    }
  }

  return (
    <main class="sign-in" id="main">
      <form onSubmit={submit}>
        <p class="brand">
          <Logo />
          <span>Graphtide</span>
        </p>
        <h1>Sign in</h1>
        <p>This service needs a credential. It stays in this browser tab until you close it, and is never a part of an address.</p>
        <Field label="API key or token" hint="An API key from `graphtide keys`, or a JSON Web Token of your identity provider">
          <input
            type="password"
            name="credential"
            autocomplete="off"
            spellcheck={false}
            required
            autofocus
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
        </Field>
        {problem ? <Notice kind="error">{problem}</Notice> : null}
        <Button kind="main" type="submit" disabled={isBusy || !secret.trim()}>
          {isBusy ? "Checking …" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
