import type { Api } from "../api.ts";
import { readManyEvents } from "../audit/read-events.ts";
import { policyPathOf } from "../href.ts";
import { type OrphansMade, stayingOf } from "../receipts/orphans-made.ts";
import { type Answer, done } from "../result.ts";
import type { Preview } from "../tokens/revocation-preview.ts";
import { listTokens, previewRevocation } from "../tokens/token-api.ts";

/** The tokens of the logins with a secret-id. */
interface TokensOfSecretId {
  /** What ends with it; null: nothing does. */
  readonly ending: Pick<Preview, "total" | "leases"> | null;
  /** Live tokens that stay, with all below them; null: the caller may not read the logins. */
  readonly staying: Pick<OrphansMade, "total" | "more"> | null;
  /** Number of logins that gave a batch token. */
  readonly batch: number;
}

/**
 * Counts the tokens that end with a secret-id and those that do not.
 *
 * @param path endpoint of the role
 * @param readsLogins true to look for the tokens that stay in the audit store
 */
export async function tokensOfSecretId(
  api: Api,
  { path, accessor }: { readonly path: string; readonly accessor: string },
  readsLogins: boolean,
): Promise<Answer<TokensOfSecretId>> {
  // The parent of the tokens that end with it (docs/approle.md). A token of another path can have the same metadata.
  const where = { metadata: `secret_id_accessor=${accessor}`, path_prefix: policyPathOf(path), limit: 1 };
  const listed = await listTokens(api, where);
  if (!listed.ok) return listed;
  const parents = listed.value.tokens.map((token) => token.accessor);
  const named = { accessors: parents, include_root: true, include_self: true };
  const ending = parents.length === 0 ? null : await previewRevocation(api, named);
  if (ending && !ending.ok) return ending;
  const logins = readsLogins ? await readLogins(api, accessor) : null;
  if (logins && !logins.ok) return logins;
  const staying = logins && (await stayingOf(api, parents, logins.value, ending?.value));
  if (staying && !staying.ok) return staying;
  return done({
    // Without the parent, which no client has.
    ending: ending && { ...ending.value, total: ending.value.total - ending.value.count },
    staying: staying?.value ?? null,
    batch: logins?.value.batch ?? 0,
  });
}

interface Logins {
  readonly accessors: readonly string[];
  readonly batch: number;
  /** True when not all were read. */
  readonly more: boolean;
}

async function readLogins(api: Api, accessor: string): Promise<Answer<Logins>> {
  const answer = await readManyEvents(api, { accessor, kind: "login" });
  if (!answer.ok) return answer;
  const { events, more } = answer.value;
  const made = events.flatMap(({ response }) => response?.auth?.accessor ?? []);
  const accessors = made.filter((one) => one !== "");
  return done({ accessors, batch: made.length - accessors.length, more });
}
