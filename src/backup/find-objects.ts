import { within } from "../base/location.ts";
import { inGroups } from "../base/parallel.ts";
import type { Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { entityShardName, identityOf } from "../identity/stubs.ts";
import { accessorShard } from "../listing/accessor-shard.ts";
import { shardNumbers } from "../listing/accessor-shard-number.ts";
import type { ObjectPage, PagePosition, PageRead } from "../storage/object-pages.ts";
import type { PageRefusal } from "../storage/stored-object.ts";
import { accessShardNames } from "../system/access-shards.ts";
import type { Installation } from "../system/installation.ts";
import { organizationDirectory, organizationNamed, organizationObjectName, teamObjectName } from "../team/find.ts";
import { treeAt } from "../token/find-tree.ts";
import { decodeStoredId } from "../token/ids.ts";
import { CUSTOM_ID_SHARDS, customIdsName } from "../tree/custom-ids.ts";
import { beginningOf, keyOf, keyOfTree, NAMED_CLASSES, type ObjectPlace, type SavedClass } from "./object-keys.ts";

/** Teams and organizations that one call brings. */
const PAGE = 200;

/** An object as backups call it. */
export interface SavedObject {
  exportPage(from: PagePosition | null, maxCharacters: number): Promise<PageRead | "changed" | null>;
  importPage(page: ObjectPage): Promise<Result<null, PageRefusal>>;
  restart(): Promise<void>;
}

const OBJECTS: Readonly<Record<SavedClass, (env: Env, name: string) => SavedObject>> = {
  TokenTree: treeAt,
  CustomIds: (env, name) => within(env, env.CUSTOM_IDS).getByName(name),
  Team: (env, name) => within(env, env.TEAM).getByName(name),
  Organization: (env, name) => within(env, env.ORGANIZATION).getByName(name),
  OrganizationDirectory: (env, name) => within(env, env.ORGANIZATION_DIRECTORY).getByName(name),
  EntityShard: (env, name) => within(env, env.ENTITY_SHARD).getByName(name),
  Identity: (env, name) => within(env, env.IDENTITY).getByName(name),
  TokenRoles: (env, name) => within(env, env.TOKEN_ROLES).getByName(name),
  TokenRevocations: (env, name) => within(env, env.TOKEN_REVOCATIONS).getByName(name),
  CloudAccessList: (env, name) => within(env, env.CLOUD_ACCESS_LIST).getByName(name),
  CloudAuth: (env, name) => within(env, env.CLOUD_AUTH).getByName(name),
  JwtAuth: (env, name) => within(env, env.JWT_AUTH).getByName(name),
  OidcIssuer: (env, name) => within(env, env.OIDC_ISSUER).getByName(name),
  System: (env, name) => within(env, env.SYSTEM).getByName(name),
};

/** The object at a place. */
export function objectAt(env: Env, { className, name }: ObjectPlace): SavedObject {
  return OBJECTS[className](env, name);
}

/** Keys of the objects after `after`, at most `limit`, in order. Some of them may have stored nothing. */
export async function objectsAfter(
  env: Env,
  installation: Installation,
  after: string,
  limit: number,
): Promise<string[]> {
  const keys = after < beginningOf(NAMED_CLASSES[0]) ? await treesAfter(env, after, limit) : [];
  for (const className of NAMED_CLASSES) {
    if (keys.length >= limit) break;
    // No object of an earlier class comes after it.
    if (after.slice(0, 1) > beginningOf(className).slice(0, 1)) continue;
    const names = await namesOf(env, installation, className);
    keys.push(
      ...names
        .map((name) => keyOf(className, name))
        .filter((key) => key > after)
        .sort(),
    );
  }
  return keys.slice(0, limit);
}

/**
 * Trees are known by what is listed of their tokens; one whose first token is not listed yet, by the shard that handed out its id.
 * That is asked before: it forgets an id once the token is listed.
 */
async function treesAfter(env: Env, after: string, limit: number): Promise<string[]> {
  const shards = shardNumbers().map((number) => accessorShard(env, number));
  const begun = await inGroups(shards, (shard) => shard.allocatedTrees());
  const from = after.slice(beginningOf("TokenTree").length);
  const listed = await inGroups(shards, (shard) => shard.treesAfter(from, limit));
  const ids = listed.flat().flatMap((accessor) => decodeStoredId(accessor)?.treeId ?? []);
  const keys = [...ids, ...begun.flat()].map(keyOfTree).filter((key) => key > after);
  return [...new Set(keys)].sort().slice(0, limit);
}

async function namesOf(env: Env, installation: Installation, className: SavedClass): Promise<string[]> {
  switch (className) {
    case "TokenTree":
      return [];
    case "CustomIds":
      return Array.from({ length: CUSTOM_ID_SHARDS }, (_, number) => customIdsName(number));
    case "Team":
      return teamNames(env);
    case "Organization":
      return (await organizationNames(env)).map(organizationObjectName);
    case "OrganizationDirectory":
      return ["organizations"];
    case "EntityShard":
      return (await identityOf(env).shards()).map(entityShardName);
    case "Identity":
      return ["identity"];
    case "TokenRoles":
      return ["token"];
    case "TokenRevocations":
      return ["revocations"];
    case "CloudAccessList":
      return installation.mounts.flatMap(accessShardNames);
    case "CloudAuth":
    case "JwtAuth":
      // Of a mount's objects only that of its method has anything.
      return installation.mounts.map(({ uuid }) => uuid);
    case "OidcIssuer":
      return ["issuer"];
    case "System":
      return ["system"];
  }
}

async function organizationNames(env: Env): Promise<string[]> {
  const organizations = await allOf(async (after) => organizationDirectory(env).after(after, PAGE));
  return organizations.map(({ name }) => name);
}

async function teamNames(env: Env): Promise<string[]> {
  const names: string[] = [];
  for (const name of await organizationNames(env)) {
    const routes = await allOf(async (after) => {
      const { routes: items, next } = await organizationNamed(env, name).teamRoutes(after, PAGE);
      return { items, next };
    });
    names.push(...routes.map(teamObjectName));
  }
  return names;
}

/** Some items of a list, and the row to go on after; null at the end. */
interface Page<T> {
  readonly items: readonly T[];
  readonly next: number | null;
}

async function allOf<T>(read: (after: number) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: Page<T> = await read(after);
    items.push(...page.items);
    after = page.next;
  }
  return items;
}
