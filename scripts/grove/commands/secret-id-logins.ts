import { MAX_NAMED_TOKENS } from "../../../src/base/limits.ts";
import { ok } from "../../../src/base/result.ts";
import type { Called } from "../client.ts";
import type { Session } from "../terminal.ts";
import { readEvents } from "./audit-pages.ts";

/** The tokens that logins with a secret-id made. */
interface TokensOfLogins {
  readonly accessors: readonly string[];
  /** Number of others: batch tokens, which have no accessor, and those beyond the most that a request names. */
  readonly unnamed: number;
}

/** Reads the logins with a secret-id in the audit store. */
export async function tokensOfLogins(
  { client, terminal }: Pick<Session, "client" | "terminal">,
  accessor: string,
): Promise<Called<TokensOfLogins>> {
  const logins = await readEvents(client, terminal, { accessor, kind: "login" }, Number.POSITIVE_INFINITY);
  if (!logins.ok) return logins;
  const made = logins.value.events.flatMap(({ response }) => response?.auth?.accessor ?? []);
  const accessors = [...new Set(made.filter((one) => one !== ""))];
  const batch = made.filter((one) => one === "").length;
  return ok({
    accessors: accessors.slice(0, MAX_NAMED_TOKENS),
    unnamed: batch + Math.max(0, accessors.length - MAX_NAMED_TOKENS),
  });
}
