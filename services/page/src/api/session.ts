/** The credential of this browser tab. It is kept in `sessionStorage`, sent in a header, and never in a URL. */

import { signal } from "@preact/signals";

const STORAGE_KEY = "graphtide.credential";

/** The reason why a credential is asked for; `null` while none is needed. */
export const signInReason = signal<string | null>(null);

export const credential = signal(sessionStorage.getItem(STORAGE_KEY) ?? "");

/** A JSON Web Token has three parts of base64url; every other credential is an API key. */
export function isToken(secret: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(secret);
}

/** Return the header that carries a credential. */
export function credentialHeader(secret: string): Record<string, string> {
  if (!secret) return {};
  return isToken(secret) ? { authorization: `Bearer ${secret}` } : { "x-api-key": secret };
}

export function signIn(secret: string): void {
  sessionStorage.setItem(STORAGE_KEY, secret);
  credential.value = secret;
  signInReason.value = null;
}

export function signOut(reason = "You signed out."): void {
  sessionStorage.removeItem(STORAGE_KEY);
  credential.value = "";
  signInReason.value = reason;
}
