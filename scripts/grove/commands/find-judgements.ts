import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { type Count, FOUND_TEXT, type FoundText, LINEAGE, type Lineage, PAGE } from "../answer-schemas.ts";
import type { Called, GroveClient } from "../client.ts";
import { DEPLOYMENT_SECRET_KEPT, type TextToFind } from "./find-texts.ts";

/** The answer about a text, or "unjudged" without one. */
export type Judged = FoundText | { readonly state: "unjudged"; readonly kind: ""; readonly message: string };

const IS_SECRET = `${DEPLOYMENT_SECRET_KEPT} Treat it as leaked unless you know that it is not one of this deployment.`;

/** Statuses by which the server rejects one text: the others can still be asked about. */
const NOT_ACCEPTED: ReadonlySet<number | null> = new Set([400, 413]);

const unjudged = (message: string): Judged => ({ state: "unjudged", kind: "", message });

/** The states in which a text is known for what it is. */
const IS_DECIDED: ReadonlySet<Judged["state"]> = new Set(["live", "refused", "ended"]);
/** When no candidate is decided, the answer is the one whose state is first in this list. */
const BY_KNOWLEDGE = ["unjudged", "mistyped", "elsewhere", "unknown"] as const;

/** Asks about a text: about its candidates in turn, until one is known for what it is. */
export async function judge(client: GroveClient, { candidates }: TextToFind): Promise<Called<Judged>> {
  if (candidates.length === 0) return ok(unjudged(IS_SECRET));
  const answers: Judged[] = [];
  for (const token of candidates) {
    const found = await client.post("sys/tokens/find", FOUND_TEXT, { token });
    if (!found.ok && !NOT_ACCEPTED.has(found.error.status)) return found;
    const one: Judged = found.ok ? found.value : unjudged("The server does not accept this text.");
    if (IS_DECIDED.has(one.state) || (one.state === "unknown" && one.kind !== "")) return ok(one);
    answers.push(one);
  }
  const [first = unjudged("")] = BY_KNOWLEDGE.flatMap((state) => answers.filter((one) => one.state === state));
  return ok(first);
}

/** A refused token is as dangerous as a live one once its entity is enabled. */
export const isAlive = ({ state }: Judged): boolean => state === "live" || state === "refused";

/** Also a mistyped text that resembles a token that has not ended. */
export const mayBeAlive = (found: FoundText): boolean => isAlive(found) || (found.state === "mistyped" && !found.ended);

/** What the lines about a text show beside the answer about it. */
export interface FoundContext {
  readonly lineage: Lineage | null;
  readonly isOwn: boolean;
  readonly hasRootParent: boolean;
  /** How many service tokens a revocation by the path of a batch token would end; null when that is not known. */
  readonly madeAtPath: Count | null;
}

/** Asks for what the lines about a text show. */
export async function contextOf(client: GroveClient, found: FoundText): Promise<FoundContext> {
  const isLiveBatch = found.kind === "batch" && isAlive(found);
  return {
    madeAtPath: isLiveBatch && found.credential ? await countAtPath(client, found.credential.path) : null,
    lineage: await lineageOf(client, found),
    isOwn: found.token !== undefined && mayBeAlive(found) && (await isOwn(client, found.token.accessor)),
    hasRootParent: isLiveBatch && (await hasRootParent(client, found)),
  };
}

/** The ancestors of a live token, and what would end with it; null when that can't be asked. */
async function lineageOf(client: GroveClient, found: FoundText): Promise<Lineage | null> {
  if (!found.token || !isAlive(found) || found.kind === "lease") return null;
  const asked = await client.get(`sys/tokens/${encodeURIComponent(found.token.accessor)}`, LINEAGE);
  return asked.ok ? asked.value : null;
}

const SELF = z.object({ accessor: z.string() });

/** True for the token of this command, which a revocation leaves out without --include-self. */
async function isOwn(client: GroveClient, accessor: string): Promise<boolean> {
  if (client.isAnonymous) return false;
  const self = await client.get("auth/token/lookup-self", SELF);
  return self.ok && self.value.accessor === accessor;
}

/** True for a batch token whose parent is a root token. */
async function hasRootParent(client: GroveClient, { credential }: FoundText): Promise<boolean> {
  if (!credential || credential.parent === null) return false;
  const asked = await client.post("sys/tokens/find", FOUND_TEXT, { accessor: credential.parent });
  return asked.ok && (asked.value.token?.policies ?? []).includes("root");
}

/** Most tokens that are counted. */
const MAX_COUNTED = 1_000;

/** Counts the service tokens of a path and the paths below it. */
async function countAtPath(client: GroveClient, path: string): Promise<Count | null> {
  const page = await client.get("sys/tokens", PAGE, { path_prefix: path, limit: String(MAX_COUNTED) });
  if (!page.ok) return null;
  const { tokens, next } = page.value;
  // The filter takes any path that begins so; a revocation by path takes whole segments.
  const made = tokens.filter((token) => token.path === path || token.path.startsWith(`${path}/`));
  return { count: made.length, more: next !== "" };
}
