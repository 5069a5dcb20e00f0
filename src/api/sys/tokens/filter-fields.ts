import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import type { TokenFilter } from "../../../listing/inventory/filter.ts";
import type { Installation } from "../../../system/installation.ts";
import { issuerOf } from "../../../system/mount.ts";
import { flag, sent, text, time, type Values } from "../../../wire/fields.ts";

/** The fields of a filter. An empty text is as none. */
export const FILTER = {
  mount: text().describe("Path of the auth mount that issued the token."),
  role: text().describe("Role that made the token, of the token method or of the auth method that issued it."),
  path_prefix: text().describe("Beginning of the path that made the token."),
  policy: text().describe("A policy that the token has."),
  entity_id: text().describe("Entity that the token belongs to."),
  display_name: text().describe("Display name; with * at the end, the beginning of it."),
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
export type FilterFields = Values<typeof FILTER>;

const TREE_ID = /^[0-9a-f]{64}$/;

/** The filter that the fields say, or why there is none. */
export function readFilter(fields: FilterFields, installation: Installation): Result<TokenFilter, Failure> {
  if (fields.type !== "" && fields.type !== "service")
    return err(invalid('only tokens of the type "service" are listed'));
  if (fields.tree !== "" && !TREE_ID.test(fields.tree)) return err(invalid("tree is not the id of a tree"));
  const mount = fields.mount === "" ? ok(undefined) : readMount(fields.mount, installation);
  if (!mount.ok) return mount;
  const isPrefix = fields.display_name.endsWith("*");
  return ok({
    mount: mount.value,
    role: fields.role || undefined,
    pathPrefix: fields.path_prefix || undefined,
    policy: fields.policy.toLowerCase() || undefined,
    entityId: fields.entity_id || undefined,
    displayName: isPrefix ? undefined : fields.display_name || undefined,
    displayNamePrefix: isPrefix ? fields.display_name.slice(0, -1) : undefined,
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

/** The id under which the mount at a path issues; the path is with or without `auth/` and the last slash. */
export function readMount(path: string, installation: Installation): Result<string, Failure> {
  const plain = `${path.replace(/^auth\//, "").replace(/\/$/, "")}/`;
  if (plain === "token/") return ok(TOKEN_MOUNT);
  const mount = installation.mountAt(plain);
  return mount ? ok(issuerOf(mount)) : err(invalid("no auth method is mounted at the path in mount"));
}
