import { isGenerated, readToken } from "../../../auth/caller.ts";
import type { CallContext } from "../../../auth/route.ts";
import { hasUnprintable } from "../../../base/name.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { MAX_FOUND_ENTITIES, searchEntities } from "../../../identity/entities.ts";
import { type Metadata, TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import type { TokenFilter } from "../../../listing/inventory/filter.ts";
import { lowered, MAX_SEARCH, MIN_SEARCH, type Search } from "../../../listing/inventory/search.ts";
import type { Installation } from "../../../system/installation.ts";
import { issuerOf } from "../../../system/mount.ts";
import { Field, flag, isObject, sent, text, time, type Values } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/page.ts";

/** Pairs that one filter names. */
const MAX_PAIRS = 32;

/** The fields of a filter. An empty text is as none. */
export const FILTER = {
  mount: text().describe("Path of the auth mount that issued the token."),
  role: text().describe("Role that made the token, of the token method or of the auth method that issued it."),
  path_prefix: text().describe("Beginning of the path that made the token."),
  policy: text().describe("A policy that the token has."),
  entity_id: text().describe("Entity that the token belongs to."),
  display_name: text().describe("Display name; with * at the end, the beginning of it."),
  search: text().describe(
    "Part of the display name, of a pair of metadata, the role, the path that made the token, the name of its entity or of an alias of that, in any case, or of the accessor: 3 to 128 characters.",
  ),
  metadata: new Field(
    { shape: ["string"], format: "kvpairs" },
    readPairs,
    "A name and value that the token's metadata has, as name=value; may be repeated, and then all have to apply.",
  ),
  type: text().describe("Type of the token: service, the only one that is listed."),
  created_after: time().describe("The token was made after this moment."),
  created_before: time().describe("The token was made before this moment."),
  ends_after: time().describe("The token ends after this moment, or never."),
  ends_before: time().describe("The token ends before this moment."),
  never_ends: sent(flag(false)).describe("Whether the token never ends."),
  unused_since: time().describe("The token was made before this moment and is not known to have been used since."),
  orphan: sent(flag(false)).describe("Whether the token has no parent."),
  tree: text().describe("Id of the tree that the token is in."),
};

/** The fields, read. */
type FilterFields = Values<typeof FILTER>;

const TREE_ID = /^[0-9a-f]{64}$/;

/** The filter that the fields say, or why there is none. Asks which entities a search finds. */
export async function readFilter({
  env,
  installation,
  fields,
}: CallContext<FilterFields>): Promise<Result<TokenFilter>> {
  if (fields.type !== "" && fields.type !== "service") return refuse('only tokens of the type "service" are listed');
  if (fields.tree !== "" && !TREE_ID.test(fields.tree)) return refuse("tree is not the id of a tree");
  const holder = await fieldWithToken(env, installation, fields);
  if (holder !== null) return refuse(`${holder} takes no token: sys/tokens/find takes one in its body`);
  const mount = fields.mount === "" ? ok(undefined) : readMount(fields.mount, installation);
  if (!mount.ok) return mount;
  const search = await readSearch(env, installation, fields.search.trim());
  if (!search.ok) return search;
  const isPrefix = fields.display_name.endsWith("*");
  return ok({
    mount: mount.value,
    role: fields.role || undefined,
    pathPrefix: fields.path_prefix || undefined,
    policy: fields.policy.toLowerCase() || undefined,
    entityId: fields.entity_id || undefined,
    displayName: isPrefix ? undefined : fields.display_name || undefined,
    displayNamePrefix: isPrefix ? fields.display_name.slice(0, -1) : undefined,
    search: search.value,
    metadata: fields.metadata,
    tree: fields.tree || undefined,
    createdAfter: fields.created_after,
    createdBefore: fields.created_before,
    endsAfter: fields.ends_after,
    endsBefore: fields.ends_before,
    neverEnds: fields.never_ends,
    unusedSince: fields.unused_since,
    orphan: fields.orphan,
  });
}

/** No token is shorter, of those that are not chosen by root. */
const MIN_TOKEN = 40;

/**
 * The field whose text has a token of this installation in it; null for none. What is filtered by is in addresses, and is kept and shown
 * with the job of a revocation.
 */
async function fieldWithToken(env: Env, installation: Installation, fields: FilterFields): Promise<string | null> {
  for (const [name, value] of Object.entries(fields)) {
    const texts = isObject(value) ? Object.entries(value).flat() : [value];
    const words = texts.flatMap((text) => (typeof text === "string" ? text.split(/[^\w.-]+/) : []));
    for (const word of words) {
      if (word.length >= MIN_TOKEN && isGenerated(word) && (await readToken(env, installation, word))) return name;
    }
  }
  return null;
}

/** The id under which the mount at a path issues; the path is with or without `auth/` and the last slash. */
export function readMount(path: string, installation: Installation): Result<string> {
  const plain = `${path.replace(/^auth\//, "").replace(/\/$/, "")}/`;
  if (plain === "token/") return ok(TOKEN_MOUNT);
  const mount = installation.mountAt(plain);
  return mount ? ok(issuerOf(mount)) : refuse("no auth method is mounted at the path in mount");
}

/** What a text searches for; undefined for an empty one. */
async function readSearch(env: Env, installation: Installation, text: string): Promise<Result<Search | undefined>> {
  if (text === "") return ok(undefined);
  const length = text.length > 2 * MAX_SEARCH ? text.length : [...lowered(text)].length;
  if (length < MIN_SEARCH || length > MAX_SEARCH) {
    return refuse(`search has ${MIN_SEARCH} to ${MAX_SEARCH} characters`);
  }
  if (hasUnprintable(text)) return refuse("search has a character that is not seen");
  // One that root chose is known here alone: elsewhere it could be the name that is meant.
  if (await readToken(env, installation, text)) {
    return refuse("search takes no token: sys/tokens/find takes one in its body");
  }
  const entities = await searchEntities(env, text);
  if (entities) return ok({ text, entities });
  return refuse(`search finds more than ${MAX_FOUND_ENTITIES} entities by their names: make it longer`);
}

/**
 * Pairs as `name=value`, one or a list of them, or an object. undefined when absent or empty. A name with two values is refused: no
 * token has both, and either of them alone would mean more tokens.
 */
function readPairs(value: unknown): Result<Metadata | undefined, string> {
  if (value === undefined || value === null || value === "") return ok(undefined);
  const items = isObject(value) ? Object.entries(value) : [value].flat().map(splitPair);
  const pairs = items.filter(isPair);
  const read = Object.fromEntries(pairs);
  if (pairs.length < items.length || items.length === 0) return err("expected name=value");
  if (Object.keys(read).length < items.length) return err("expected each name once");
  return items.length > MAX_PAIRS ? err(`expected at most ${MAX_PAIRS} pairs`) : ok(read);
}

function splitPair(item: unknown): readonly unknown[] {
  const text = typeof item === "string" ? item : "";
  const at = text.indexOf("=");
  return at < 1 ? [] : [text.slice(0, at), text.slice(at + 1)];
}

function isPair(pair: readonly unknown[]): pair is readonly [string, string] {
  return pair.length === 2 && pair.every((part) => typeof part === "string") && pair[0] !== "";
}

/** Where a page of tokens begins. */
export const AFTER = PAGE.after.describe("The cursor in next of the page before.");

/** The fields of a page of tokens. */
export const TOKEN_PAGE = {
  after: AFTER,
  limit: PAGE.limit.describe("Tokens of the page: 1 to 1000, 100 when absent."),
};

/** How many entries a page has: as many as are asked for, and `otherwise` where nothing is said. */
export function readLimit(asked: number, max = 1000, otherwise = 100): Result<number> {
  return asked < 0 || asked > max ? refuse(`limit is at most ${max}`) : ok(asked || otherwise);
}
