import { currentTime } from "../base/clock.ts";
import type { Env } from "../env.ts";
import { isGoodCopy } from "../system/expected-changes.ts";
import { snapshotMaxAgeMs } from "../system/snapshot-age.ts";
import { groupsAnnouncedAt } from "./announcements.ts";
import { identityOf } from "./identity.ts";
import type { GroupPart, GroupsAnswer } from "./model.ts";

/** Characters of groups with which an isolate begins anew. */
const MAX_CHARACTERS = 2 ** 22;
/** So many groups that entities are in are asked for again at once when some group has changed. */
const MAX_ASKED = 256;

/** Groups as this isolate knows them, all of one state. */
interface KnownGroups {
  readonly state: number;
  /** When they were last known to be true (ms). */
  readonly checkedAt: number;
  /** null: there is none with this id. */
  readonly parts: ReadonlyMap<string, GroupPart | null>;
  /** Groups that entities are in themselves. */
  readonly direct: ReadonlySet<string>;
  readonly characters: number;
}

/** Groups and all that they are in, of one state. */
export interface GroupsInState {
  readonly state: number;
  readonly groups: readonly GroupPart[];
}

let known: KnownGroups | null = null;
/** Counts the writes of this isolate: what was asked for before one may be older than it, and is not kept. */
let writes = 0;

/** Groups with all that they are in. They are no older than POLICY_CACHE_SECONDS, or have not changed since. */
export async function loadGroups(env: Env, ids: readonly string[]): Promise<GroupsInState> {
  const fresh = freshGroups(env, ids);
  if (fresh) return fresh;
  const { known: before, writes: writesBefore, checkedAt } = beginAskingForGroups();
  const asked = [...new Set([...ids, ...(before?.direct ?? [])])].slice(0, Math.max(MAX_ASKED, ids.length));
  const missing = before ? ids.filter((id) => !partsAbove(before, [id])) : ids;
  const answer = await identityOf(env).groupsAbove(asked, missing, before?.state ?? null);
  const now = joined(before, answer, answer.state === before?.state ? missing : asked, checkedAt);
  if (writes === writesBefore) keep(now, before);
  const groups = partsAbove(now, ids);
  // What a group that is left out denies would be granted.
  if (!groups) throw new Error("an answer about groups leaves out some");
  return { state: now.state, groups };
}

/** The same as far as this isolate knows them; null when it would have to ask. */
export function freshGroups(env: Env, ids: readonly string[]): GroupsInState | null {
  if (!known) return null;
  const copy = { checkedAt: known.checkedAt, announcedAt: groupsAnnouncedAt(env), maxAgeMs: snapshotMaxAgeMs(env) };
  if (!isGoodCopy(copy, currentTime())) return null;
  const groups = partsAbove(known, ids);
  return groups && { state: known.state, groups };
}

/** The state of all groups, if this isolate knows it without asking anybody, else null. */
export function freshGroupsState(env: Env): number | null {
  return freshGroups(env, [])?.state ?? null;
}

/**
 * Keeps groups that came with something else.
 *
 * @param ids what the answer is about.
 * @param asking what `beginAskingForGroups` gave before somebody was asked.
 */
export function learnGroups(answer: GroupsAnswer, ids: readonly string[], asking: AskingForGroups): void {
  if (writes !== asking.writes) return;
  keep(joined(asking.known, answer, ids, asking.checkedAt), asking.known);
}

/** What `learnGroups` takes. */
export interface AskingForGroups {
  readonly known: KnownGroups | null;
  readonly writes: number;
  readonly checkedAt: number;
}

/** Call it before somebody is asked. */
export function beginAskingForGroups(): AskingForGroups {
  if (known && known.characters > MAX_CHARACTERS) known = null;
  return { known, writes, checkedAt: currentTime() };
}

/** Makes this isolate read all groups anew. */
export function forgetGroups(): void {
  writes++;
  known = null;
}

/** Keeps an answer; where two have crossed and differ nobody knows which of them is the newer one. */
function keep(now: KnownGroups, before: KnownGroups | null): void {
  if (known === before) known = now;
  else if (known?.state !== now.state) known = null;
  else known = withPartsOf(known, { ...now, checkedAt: Math.max(known.checkedAt, now.checkedAt) });
}

/** What is known after an answer about `ids`. */
function joined(
  before: KnownGroups | null,
  { state, groups }: GroupsAnswer,
  ids: readonly string[],
  checkedAt: number,
): KnownGroups {
  const parts = new Map<string, GroupPart | null>(ids.map((id) => [id, null]));
  for (const part of groups) parts.set(part.group.id, part);
  for (const { parentIds } of groups) for (const id of parentIds) if (!parts.has(id)) parts.set(id, null);
  const characters = groups.reduce((sum, part) => sum + JSON.stringify(part).length, 100 * ids.length);
  const answered = { state, checkedAt, parts, direct: new Set(ids), characters };
  return before?.state === state ? withPartsOf(before, answered) : answered;
}

/** What is known now, with the parts of before. Both are of one state. */
function withPartsOf(before: KnownGroups, now: KnownGroups): KnownGroups {
  if (now.parts.size === 0) return { ...before, checkedAt: now.checkedAt };
  return {
    ...now,
    parts: new Map([...before.parts, ...now.parts]),
    direct: new Set([...before.direct, ...now.direct]),
    characters: before.characters + now.characters,
  };
}

/** Groups and all that they are in; null when one is not known. Ends also if groups should form a circle. */
function partsAbove({ parts }: KnownGroups, ids: readonly string[]): GroupPart[] | null {
  const found = new Map<string, GroupPart | null>();
  for (let level = ids; level.length > 0; ) {
    const next = new Set<string>();
    for (const id of level) {
      const part = parts.get(id);
      if (part === undefined) return null;
      found.set(id, part);
      for (const parent of part?.parentIds ?? []) if (!found.has(parent)) next.add(parent);
    }
    level = [...next];
  }
  return [...found.values()].filter((part) => part !== null);
}
