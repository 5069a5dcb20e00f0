import { within } from "../base/location.ts";
import { stubWith } from "../base/object-stub.ts";
import { invalid, type Result } from "../base/result.ts";
import { fromBase64Url } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { entityShardName, identityOf } from "../identity/stubs.ts";
import { askShards } from "../listing/accessor-shards.ts";
import type { ObjectPage, PagePosition, PageRead } from "../storage/object-pages.ts";
import type { SealPosition, SealStep } from "../storage/row-seals.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import { ADDRESS_BYTES, decodeStoredId, readAddress, routedIdText } from "../token/ids.ts";
import { treeAt } from "../token/tree-stub.ts";
import { CUSTOM_ID_SHARDS, customIdsName } from "../tree/custom-ids.ts";

/** The methods of an object that a backup and a restore call. */
interface SavedObject {
  exportPage(from: PagePosition | null, maxCharacters: number): Promise<PageRead | "changed" | null>;
  importPage(page: ObjectPage): Promise<Result<null, PageRefusal>>;
  restart(): Promise<void>;
  ping(): Promise<void>;
}

interface NamedObject extends SavedObject {
  checkSeals(from: SealPosition | null): Promise<SealStep>;
}

interface Namespace {
  jurisdiction(jurisdiction: DurableObjectJurisdiction): Namespace;
  getByName(name: string): NamedObject;
}

/** The objects of a class in backups. */
export interface SavedClass {
  readonly in: (env: Env) => Namespace;
  /** Returns the names of the objects that may have stored something. */
  readonly names: (env: Env, mounts: readonly Mount[]) => readonly string[] | Promise<readonly string[]>;
  /** True for one object of a fixed name that stores nothing before the installation has keys. */
  readonly storesUnderKeys?: true;
}

export type SavedClasses = Readonly<Record<string, SavedClass>>;

/** Returns the names of the objects of mounts. The object of a mount of another type has stored nothing. */
export const mountNames: SavedClass["names"] = (_, mounts) => mounts.map(({ uuid }) => uuid);

const CUSTOM_IDS: SavedClasses = {
  CustomIds: {
    in: (env) => env.CUSTOM_IDS,
    names: () => Array.from({ length: CUSTOM_ID_SHARDS }, (_, n) => customIdsName(n)),
  },
};

const BEFORE_MOUNTS: SavedClasses = {
  EntityShard: {
    in: (env) => env.ENTITY_SHARD,
    names: async (env) => (await identityOf(env).shards()).map(entityShardName),
  },
  Identity: { in: (env) => env.IDENTITY, names: () => ["identity"], storesUnderKeys: true },
  TokenRoles: { in: (env) => env.TOKEN_ROLES, names: () => ["token"], storesUnderKeys: true },
  TokenRevocations: { in: (env) => env.TOKEN_REVOCATIONS, names: () => ["revocations"] },
};

const AFTER_MOUNTS: SavedClasses = {
  OidcIssuer: { in: (env) => env.OIDC_ISSUER, names: () => ["issuer"], storesUnderKeys: true },
  System: { in: (env) => env.SYSTEM, names: () => ["system"] },
};

/**
 * Returns the classes of objects in a backup, in the order in which it reads them after the trees. A class that refers
 * to another one comes before it, so that no row of the backup names an object that is missing. The System object is
 * the last: its watermarks, keys and policies are as new as everything else, or newer.
 */
export function savedClasses(credentials: readonly SavedClasses[], mounts: readonly SavedClasses[]) {
  const all = [CUSTOM_IDS, ...credentials, BEFORE_MOUNTS, ...mounts, AFTER_MOUNTS];
  return new Map(all.flatMap((classes) => Object.entries(classes)));
}

const TREES = "TokenTree";

/** All classes of objects in a backup, in the order in which it reads them. */
export function classesInOrder({ kinds }: Env): string[] {
  return [TREES, ...kinds.objects.keys()];
}

/** Identifies an object: a tree by its id, any other object by its name. */
export interface ObjectPlace {
  readonly className: string;
  readonly name: string;
}

/**
 * The beginning of the keys of a class: a letter by its place in the order of a backup. The name of an object follows. A
 * backup reads objects in the order of their keys.
 */
function beginningOf(env: Env, className: string): string {
  return `${String.fromCharCode(97 + classesInOrder(env).indexOf(className))} `;
}

/** The keys of trees, which are in the order in which their accessors are listed. */
export function keysOfTrees(env: Env, treeIds: readonly string[]): string[] {
  const beginning = beginningOf(env, TREES);
  return treeIds.map((treeId) => beginning + routedIdText(treeId, 0, new Uint8Array()));
}

/** The object with this key; null for a text that is no key. */
export function objectPlaceOf(env: Env, key: string): ObjectPlace | null {
  const className = classesInOrder(env).find((one) => key.startsWith(beginningOf(env, one)));
  if (className === undefined) return null;
  const name = key.slice(beginningOf(env, className).length);
  if (className !== TREES) return { className, name };
  const address = fromBase64Url(name);
  return address?.length === ADDRESS_BYTES ? { className, name: readAddress(address).treeId } : null;
}

export function objectAt(env: Env, { className, name }: ObjectPlace): SavedObject {
  return className === TREES ? treeAt(env, name) : namedObject(env, className, name);
}

/** Refuses to initialize a deployment, or to restore into it, whose objects have rows. */
export const LOST_SYSTEM = invalid(
  "rows of an earlier installation are stored here, and the keys that sealed them are not: bring a backup back into an empty data directory or deployment (docs/runbook.md, Restore); one that is empty is also where to begin anew",
);

/** True in a deployment without keys whose objects have rows: those of an installation that lost its System object. */
export async function hasLostSystem(env: Env): Promise<boolean> {
  if (env.STORED_TOKENS === "true") return true;
  const stored = [...env.kinds.objects].filter(([, { storesUnderKeys }]) => storesUnderKeys);
  const pages = await Promise.all(
    stored.map(async ([className]) => {
      const [name = ""] = await namesOf(env, [], className);
      return namedObject(env, className, name).exportPage(null, 1);
    }),
  );
  return pages.some((page) => page !== null);
}

/** @throws for a class that is in no backup: a bug, or a part that another version has made. */
function classOf({ kinds }: Env, className: string): SavedClass {
  const found = kinds.objects.get(className);
  if (!found) throw new Error("no backup holds an object of this class");
  return found;
}

/** How any of them is called in a cluster. */
const RULES = { repeated: ["exportPage", "importPage", "checkSeals"] } as const;

export function namedObject(env: Env, className: string, name: string): NamedObject {
  return stubWith(env, RULES, () => within(env, classOf(env, className).in(env)).getByName(name));
}

/** The names of the objects of a class. Some of these objects may have stored nothing. */
export async function namesOf(env: Env, mounts: readonly Mount[], className: string): Promise<readonly string[]> {
  return classOf(env, className).names(env, mounts);
}

/** Keys of the objects after `after`, at most `limit`, in order. Some of these objects may have stored nothing. */
export async function objectsAfter(env: Env, { mounts }: Installation, after: string, limit: number) {
  // True when all objects of the class come before `after`.
  const isPast = (className: string) => after.slice(0, 2) > beginningOf(env, className);
  const keys = isPast(TREES) ? [] : await treesAfter(env, after, limit);
  for (const className of env.kinds.objects.keys()) {
    if (keys.length >= limit) break;
    if (isPast(className)) continue;
    const names = await namesOf(env, mounts, className);
    const beginning = beginningOf(env, className);
    const found = names.map((name) => beginning + name).filter((key) => key > after);
    keys.push(...found.sort());
  }
  return keys.slice(0, limit);
}

/**
 * Trees are found by their listed tokens. A tree whose first token is not listed yet is found by the shard that
 * allocated its id. The shards are asked for allocated ids first, because they forget an id once its token is listed.
 */
async function treesAfter(env: Env, after: string, limit: number): Promise<string[]> {
  const allocated = await askShards(env, (shard) => shard.allocatedTrees());
  const from = after.slice(beginningOf(env, TREES).length);
  const listed = await askShards(env, (shard) => shard.treesAfter(from, limit));
  const ids = listed.flat().flatMap((accessor) => decodeStoredId(accessor)?.treeId ?? []);
  const keys = keysOfTrees(env, [...ids, ...allocated.flat()]).filter((key) => key > after);
  return [...new Set(keys)].sort().slice(0, limit);
}
