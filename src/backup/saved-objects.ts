import { within } from "../base/location.ts";
import { invalid, type Result } from "../base/result.ts";
import { fromBase64Url } from "../crypto/bytes.ts";
import type { Env } from "../env.ts";
import { entityShardName, identityOf } from "../identity/stubs.ts";
import { askShards } from "../listing/accessor-shards.ts";
import type { ObjectPage, PagePosition, PageRead } from "../storage/object-pages.ts";
import { allPages } from "../storage/pages.ts";
import type { SealPosition, SealStep } from "../storage/row-seals.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import { accessShardNames } from "../system/access-shards.ts";
import type { Installation } from "../system/installation.ts";
import { organizationDirectory, organizationNamed, organizationObjectName, teamObjectName } from "../team/find.ts";
import { treeAt } from "../token/find-tree.ts";
import { ADDRESS_BYTES, decodeStoredId, readAddress, routedIdText } from "../token/ids.ts";
import { CUSTOM_ID_SHARDS, customIdsName } from "../tree/custom-ids.ts";

const PAGE = 200;

/** The methods of an object that a backup and a restore call. */
export interface SavedObject {
  exportPage(from: PagePosition | null, maxCharacters: number): Promise<PageRead | "changed" | null>;
  importPage(page: ObjectPage): Promise<Result<null, PageRefusal>>;
  restart(): Promise<void>;
}

interface NamedObject extends SavedObject {
  checkSeals(from: SealPosition | null): Promise<SealStep>;
}

interface Namespace {
  jurisdiction(jurisdiction: DurableObjectJurisdiction): Namespace;
  getByName(name: string): NamedObject;
}

/** The objects of a class: their namespace, and the names of those that may have stored something. */
interface NamedObjects {
  readonly in: (env: Env) => Namespace;
  readonly names: (env: Env, installation: Installation) => readonly string[] | Promise<readonly string[]>;
}

/** A mount has one object of this name, in the class of its method. The object of another class has stored nothing. */
const mountNames: NamedObjects["names"] = (_, { mounts }) => mounts.map(({ uuid }) => uuid);

/**
 * The classes of objects in a backup, in the order in which it reads them after the trees. A class that refers to
 * another one comes before it, so that no row of the backup names an object that is missing. The System object is the
 * last: its watermarks, keys and policies are as new as everything else, or newer.
 */
const OBJECTS = {
  CustomIds: {
    in: (env) => env.CUSTOM_IDS,
    names: () => Array.from({ length: CUSTOM_ID_SHARDS }, (_, n) => customIdsName(n)),
  },
  Team: { in: (env) => env.TEAM, names: teamNames },
  Organization: {
    in: (env) => env.ORGANIZATION,
    names: async (env) => (await organizations(env)).map(organizationObjectName),
  },
  OrganizationDirectory: { in: (env) => env.ORGANIZATION_DIRECTORY, names: () => ["organizations"] },
  EntityShard: {
    in: (env) => env.ENTITY_SHARD,
    names: async (env) => (await identityOf(env).shards()).map(entityShardName),
  },
  Identity: { in: (env) => env.IDENTITY, names: () => ["identity"] },
  TokenRoles: { in: (env) => env.TOKEN_ROLES, names: () => ["token"] },
  TokenRevocations: { in: (env) => env.TOKEN_REVOCATIONS, names: () => ["revocations"] },
  CloudAccessList: { in: (env) => env.CLOUD_ACCESS_LIST, names: (_, { mounts }) => mounts.flatMap(accessShardNames) },
  CloudAuth: { in: (env) => env.CLOUD_AUTH, names: mountNames },
  JwtAuth: { in: (env) => env.JWT_AUTH, names: mountNames },
  OidcIssuer: { in: (env) => env.OIDC_ISSUER, names: () => ["issuer"] },
  System: { in: (env) => env.SYSTEM, names: () => ["system"] },
} satisfies Readonly<Record<string, NamedObjects>>;

export type NamedClass = keyof typeof OBJECTS;

function isNamed(className: string): className is NamedClass {
  return Object.hasOwn(OBJECTS, className);
}

/** The classes besides that of trees, in the order of a backup. */
export const NAMED_CLASSES: readonly NamedClass[] = Object.keys(OBJECTS).filter(isNamed);

type SavedClass = "TokenTree" | NamedClass;
const ORDER: readonly SavedClass[] = ["TokenTree", ...NAMED_CLASSES];

/** Identifies an object: a tree by its id, any other object by its name. */
export interface ObjectPlace {
  readonly className: SavedClass;
  readonly name: string;
}

/** The key of an object: a letter for its class, and its name. A backup reads objects in the order of their keys. */
function keyOf(className: SavedClass, name: string): string {
  return `${String.fromCharCode(97 + ORDER.indexOf(className))} ${name}`;
}

/** The key of a tree. Trees are in the order in which their accessors are listed. */
export function keyOfTree(treeId: string): string {
  return keyOf("TokenTree", routedIdText(treeId, 0, new Uint8Array()));
}

function beginningOf(className: SavedClass): string {
  return keyOf(className, "");
}

/** The object with this key; null for a text that is no key. */
export function objectPlaceOf(key: string): ObjectPlace | null {
  const className = ORDER.find((one) => key.startsWith(beginningOf(one)));
  if (!className) return null;
  const name = key.slice(beginningOf(className).length);
  if (className !== "TokenTree") return { className, name };
  const address = fromBase64Url(name);
  return address?.length === ADDRESS_BYTES ? { className, name: readAddress(address).treeId } : null;
}

/** True for the name of a class that is in backups. */
export function isSavedClass(className: unknown): className is SavedClass {
  return ORDER.some((one) => one === className);
}

export function objectAt(env: Env, { className, name }: ObjectPlace): SavedObject {
  return className === "TokenTree" ? treeAt(env, name) : namedObject(env, className, name);
}

/** Objects that store nothing before the installation has keys. */
const STORED_UNDER_KEYS: readonly ObjectPlace[] = [
  { className: "Identity", name: "identity" },
  { className: "TokenRoles", name: "token" },
  { className: "OidcIssuer", name: "issuer" },
  { className: "OrganizationDirectory", name: "organizations" },
];

/** Refuses to initialize a deployment, or to restore into it, whose objects have rows. */
export const LOST_SYSTEM = invalid(
  "rows of an earlier installation are stored here, and the keys that sealed them are not: restore a backup into an empty deployment",
);

/** True in a deployment without keys whose objects have rows: those of an installation that lost its System object. */
export async function hasLostSystem(env: Env): Promise<boolean> {
  const pages = await Promise.all(STORED_UNDER_KEYS.map((place) => objectAt(env, place).exportPage(null, 1)));
  return pages.some((page) => page !== null);
}

export function namedObject(env: Env, className: NamedClass, name: string): NamedObject {
  return within(env, OBJECTS[className].in(env)).getByName(name);
}

/** The names of the objects of a class. Some of these objects may have stored nothing. */
export async function namesOf(env: Env, installation: Installation, className: NamedClass): Promise<readonly string[]> {
  return OBJECTS[className].names(env, installation);
}

/** Keys of the objects after `after`, at most `limit`, in order. Some of these objects may have stored nothing. */
export async function objectsAfter(env: Env, installation: Installation, after: string, limit: number) {
  // True when all objects of the class come before `after`.
  const isPast = (className: SavedClass) => after.slice(0, 1) > beginningOf(className).slice(0, 1);
  const keys = isPast("TokenTree") ? [] : await treesAfter(env, after, limit);
  for (const className of NAMED_CLASSES) {
    if (keys.length >= limit) break;
    if (isPast(className)) continue;
    const names = await namesOf(env, installation, className);
    const found = names.map((name) => keyOf(className, name)).filter((key) => key > after);
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
  const from = after.slice(beginningOf("TokenTree").length);
  const listed = await askShards(env, (shard) => shard.treesAfter(from, limit));
  const ids = listed.flat().flatMap((accessor) => decodeStoredId(accessor)?.treeId ?? []);
  const keys = [...ids, ...allocated.flat()].map(keyOfTree).filter((key) => key > after);
  return [...new Set(keys)].sort().slice(0, limit);
}

async function organizations(env: Env): Promise<string[]> {
  const names: string[] = [];
  const directory = organizationDirectory(env);
  for await (const { items } of allPages((after) => directory.after(after, PAGE))) {
    names.push(...items.map(({ name }) => name));
  }
  return names;
}

async function teamNames(env: Env): Promise<string[]> {
  const names: string[] = [];
  for (const organization of await organizations(env)) {
    const stub = organizationNamed(env, organization);
    for await (const { routes } of allPages((after) => stub.teamRoutes(after, PAGE))) {
      names.push(...routes.map(teamObjectName));
    }
  }
  return names;
}
