import { isGenerated, readToken } from "../../../auth/read-token.ts";
import type { PresentedContext } from "../../../auth/route.ts";
import { nameKey } from "../../../base/case-folding.ts";
import { hasUnprintable } from "../../../base/misleading-characters.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { MAX_FOUND_ENTITIES, searchEntities } from "../../../identity/read-entity.ts";
import { type ListedMetadata, TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import { lowered, MAX_SEARCH, MIN_SEARCH, type TokenFilter } from "../../../listing/inventory/filter.ts";
import type { Installation } from "../../../system/installation.ts";
import { mountIssuerOf } from "../../../system/mount.ts";
import type { Values } from "../../../wire/field-schema.ts";
import { Field, flag, isObject, sent, text, time } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/pagination.ts";

const MAX_PAIRS = 32;

/** The fields of a filter. An empty text is the same as an absent field. */
export const FILTER = {
  mount: text().describe("Path of the auth mount that issued the token."),
  role: text().describe("Token role that created the token, or role of its auth method."),
  path_prefix: text().describe("Beginning of the path of the request that created the token."),
  policy: text().describe("A policy that the token has."),
  entity_id: text().describe("Entity that the token belongs to."),
  display_name: text().describe("Display name; with * at the end: its beginning."),
  search: text().describe(
    "3 to 128 characters, in any case, of the display name, metadata, role, path of creation, accessor, or name of its entity or an alias.",
  ),
  metadata: new Field(
    { shape: ["string"], format: "kvpairs" },
    readPairs,
    "Metadata as name=value; may be repeated: all must be there.",
  ),
  type: text().describe("Type of the token: service, the only type that is listed."),
  created_after: time().describe("Created after this time."),
  created_before: time().describe("Created before this time."),
  ends_after: time().describe("Ends after this time, or never."),
  ends_before: time().describe("Ends before this time."),
  never_ends: sent(flag(false)).describe("Never ends."),
  unused_since: time().describe("Created before this time and not used since."),
  orphan: sent(flag(false)).describe("Has no parent."),
  tree: text().describe("Id of the tree that the token is in."),
};

type FilterFields = Values<typeof FILTER>;
type FilterContext = Pick<PresentedContext<FilterFields>, "env" | "installation" | "fields">;

/** A filter whose search text was not resolved to entities yet. */
export interface ReadFilter extends Omit<TokenFilter, "search"> {
  /** "" for none. */
  readonly searched: string;
}

/** Reads a filter. Checks it as far as possible without stored data, so that a malformed one costs no use. */
export async function readFilter(context: FilterContext): Promise<Result<ReadFilter>> {
  const { env, installation, fields } = context;
  if (fields.type !== "" && fields.type !== "service") return refuse('only tokens of the type "service" are listed');
  if (!/^([0-9a-f]{64})?$/.test(fields.tree)) return refuse("tree is not the id of a tree");
  const holder = await fieldWithToken(env, installation, fields);
  if (holder !== null) return refuse(`${holder} must not contain a token: sys/tokens/find takes one in its body`);
  if (hasBasePath(fields.path_prefix)) return refuse(BASE_PATH);
  const mount = readMount(fields.mount, installation);
  if (!mount.ok) return mount;
  const searched = fields.search.trim();
  const problem = await searchProblem(env, installation, searched);
  if (problem) return refuse(problem);
  const isPrefix = fields.display_name.endsWith("*");
  return ok({
    mount: mount.value ?? undefined,
    role: fields.role || undefined,
    pathPrefix: fields.path_prefix || undefined,
    policy: nameKey(fields.policy) || undefined,
    entityId: fields.entity_id || undefined,
    displayName: isPrefix ? undefined : fields.display_name || undefined,
    displayNamePrefix: isPrefix ? fields.display_name.slice(0, -1) : undefined,
    searched,
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

/** Completes a filter: for a search it asks which entities have matching names. */
export async function completeFilter(env: Env, { searched, ...filter }: ReadFilter): Promise<Result<TokenFilter>> {
  if (searched === "") return ok({ ...filter, search: undefined });
  const entities = await searchEntities(env, searched);
  if (entities) return ok({ ...filter, search: { text: searched, entities } });
  return refuse(`more than ${MAX_FOUND_ENTITIES} names of entities match search: make it longer`);
}

/** True for a path as a URL has it. No list has such a path, so a filter by it would select nothing. */
export function hasBasePath(path: string): boolean {
  return /^(?:\/|v1\/|api\/v2\/|https?:)/.test(path);
}

export const BASE_PATH = "path_prefix has no /v1/ and no slash at its beginning";

/** Generated tokens are not shorter than this, in characters. */
const MIN_TOKEN = 40;

/**
 * Returns the name of the field that contains a token of this installation; null for none. A filter must not contain
 * one: it is part of URLs, and a revocation stores and shows it.
 */
export async function fieldWithToken(env: Env, installation: Installation, fields: object): Promise<string | null> {
  for (const [name, value] of Object.entries(fields)) {
    const texts = isObject(value) ? Object.entries(value).flat() : [value];
    const words = texts.flatMap((text) => (typeof text === "string" ? text.split(/[^\w.-]+/) : []));
    for (const word of words) {
      if (word.length >= MIN_TOKEN && isGenerated(env, word) && (await readToken(env, installation, word))) return name;
    }
  }
  return null;
}

/**
 * Returns the id that the inventory stores for the mount at a path; null for "". The path may begin with `auth/` and
 * end with a slash.
 */
export function readMount(path: string, installation: Installation): Result<string | null> {
  if (path === "") return ok(null);
  const plain = `${path.replace(/^auth\//, "").replace(/\/$/, "")}/`;
  if (plain === "token/") return ok(TOKEN_MOUNT);
  const mount = installation.mountAt(plain);
  return mount ? ok(mountIssuerOf(mount)) : refuse("no auth method is mounted at the path of mount");
}

/** Returns the problem with the text of a search, or null. */
async function searchProblem(env: Env, installation: Installation, text: string): Promise<string | null> {
  if (text === "") return null;
  const length = text.length > 2 * MAX_SEARCH ? text.length : [...lowered(text)].length;
  if (length < MIN_SEARCH || length > MAX_SEARCH) return `search has ${MIN_SEARCH} to ${MAX_SEARCH} characters`;
  if (hasUnprintable(text)) return "search has a character that is not printable";
  // This also finds custom ids. Other fields are not checked for these, because there such a text may be a name.
  const isToken = (await readToken(env, installation, text)) !== null;
  return isToken ? "search must not contain a token: sys/tokens/find takes one in its body" : null;
}

/**
 * Reads pairs: one `name=value`, a list of them, or an object; undefined when absent or empty. A name with two values
 * is refused: no token has both, and a filter with only one of them would match more tokens.
 */
function readPairs(value: unknown): Result<ListedMetadata | undefined, string> {
  if (value === undefined || value === "") return ok(undefined);
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

/** The start of a page of tokens. */
export const AFTER = PAGE.after.describe("The cursor in next of the previous page.");

/** The fields of a page of tokens. */
export const TOKEN_PAGE = {
  after: AFTER,
  limit: PAGE.limit.describe("Tokens of the page: 1 to 1000, 100 by default."),
};

/** Returns the number of entries of a page; `otherwise` for 0. */
export function readLimit(asked: number, max = 1000, otherwise = 100): Result<number> {
  return asked < 0 || asked > max ? refuse(`limit is at most ${max}`) : ok(asked || otherwise);
}
