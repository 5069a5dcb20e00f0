import type { Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { readEvents, readManyEvents } from "../audit/read-events.ts";
import { type Answer, done } from "../result.ts";
import type { Preview } from "../tokens/revocation-preview.ts";
import { MOST_NAMED } from "../tokens/selection.ts";
import { previewRevocation } from "../tokens/token-api.ts";

/** Most tokens whose records are read, with one request each. */
export const MOST_MAKERS = 20;

/** Live tokens that a revocation does not end although tokens that end made them: orphans, and what hangs below these. */
export interface OrphansMade {
  readonly total: number;
  /** True when not all records of the makers were read. */
  readonly more: boolean;
  /** Some of the live tokens with a tree of their own. */
  readonly sample: readonly Token[];
  /** What they made, alive or not, at most `MOST_NAMED`. */
  readonly accessors: readonly string[];
}

const NONE: OrphansMade = { total: 0, more: false, sample: [], accessors: [] };

/** The service tokens among the makes of a record; a batch token has no accessor. */
const isListed = ({ token_type: type }: { readonly token_type: string }): boolean => type === "service";

/** The orphans that tokens made, and those that they made, by the records of the audit store. */
export async function orphansOfTokens(api: Api, makers: readonly string[]): Promise<Answer<OrphansMade>> {
  const made = await madeBelow(api, makers);
  return made.ok ? stayingOf(api, makers, made.value) : made;
}

/** The orphans that the tokens of an entity made. Its other tokens end with it. */
export async function orphansOfEntity(api: Api, id: string): Promise<Answer<OrphansMade>> {
  const changes = await readManyEvents(api, { entity_id: id, kind: "change" });
  if (!changes.ok) return changes;
  const first = new Set<string>();
  for (const { auth, response } of changes.value.events) {
    const token = response?.auth;
    if (token && auth?.entity_id === id && token.entity_id !== id && isListed(token)) first.add(token.accessor);
  }
  const makers = [...first];
  const below = await madeBelow(api, makers.slice(0, MOST_MAKERS));
  if (!below.ok) return below;
  const more = changes.value.more || below.value.more || makers.length > MOST_MAKERS;
  return stayingOf(api, [], { accessors: [...makers, ...below.value.accessors], more });
}

interface Made {
  readonly accessors: readonly string[];
  readonly more: boolean;
}

/** All tokens that tokens made, and that those made, one after the other: each answer is a search of the store. */
async function madeBelow(api: Api, makers: readonly string[]): Promise<Answer<Made>> {
  const accessors: string[] = [];
  let more = false;
  for (const accessor of makers) {
    const answer = await readEvents(api, { accessor, lineage: true, limit: 1 });
    if (!answer.ok) return answer;
    accessors.push(...(answer.value.below ?? []).filter(isListed).map((token) => token.accessor));
    more ||= answer.value.complete === false;
  }
  return done({ accessors, more });
}

/**
 * Which of the made tokens are alive and do not end with their makers: what would end with them, less what ends anyway.
 *
 * @param ending what ends with the makers, if it was counted before
 */
export async function stayingOf(
  api: Api,
  makers: readonly string[],
  made: Made,
  ending: Preview | null = null,
): Promise<Answer<OrphansMade>> {
  const known = new Set(makers);
  const all = [...new Set(made.accessors)].filter((accessor) => !known.has(accessor));
  const accessors = all.slice(0, MOST_NAMED - makers.length);
  const more = made.more || accessors.length < all.length;
  if (accessors.length === 0) return done({ ...NONE, more });
  const count = (named: readonly string[]) =>
    previewRevocation(api, { accessors: named, include_root: true, include_self: true });
  const with_ = await count([...makers, ...accessors]);
  if (!with_.ok) return with_;
  const without = ending || makers.length === 0 ? done(ending) : await count(makers);
  if (!without.ok) return without;
  const own = new Set((without.value?.sample ?? []).map(({ tree }) => tree));
  const sample = (with_.value.sample ?? []).filter(({ tree, accessor }) => !own.has(tree) && !known.has(accessor));
  const total = Math.max(0, with_.value.total - (without.value?.total ?? 0));
  return done({ total, more, sample, accessors });
}
