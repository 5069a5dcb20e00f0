import type { Answer, Subject } from "./subject.ts";

/** One attack. */
export interface Check {
  readonly name: string;
  /** Returns how it was refused or recorded; throws when it works. */
  readonly attack: (subject: Subject) => Promise<string>;
}

/** Ends an attack as one that works, unless something is so. */
export function must(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

/** What an answer hands out. */
export function authOf({ status, body }: Answer): { readonly client_token: string; readonly accessor: string } {
  must(status === 200, `a token was answered with ${status}`);
  return body.auth as { client_token: string; accessor: string };
}

/** A new token, by the root token. */
export async function createToken(subject: Subject, fields: Record<string, unknown>, endpoint = "create-orphan") {
  const body = { policies: ["default"], ttl: "1h", ...fields };
  return authOf(await subject.call("POST", `auth/token/${endpoint}`, { body }));
}
