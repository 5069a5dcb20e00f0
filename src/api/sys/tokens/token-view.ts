import { formatRfc3339 } from "../../../base/rfc3339.ts";
import { createdAtOf, type ListedToken, TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import type { Installation } from "../../../system/installation.ts";
import { issuerOf } from "../../../system/mount.ts";
import { decodeStoredId } from "../../../token/ids.ts";
import type { Shape } from "../../../wire/shape.ts";

/** The shape of a token in answers. */
export const TOKEN_SHAPE = {
  accessor: "string",
  display_name: "string",
  path: "string",
  role: "string",
  mount: "string",
  mount_accessor: "string",
  type: "string",
  policies: ["string"],
  entity_id: "string",
  metadata: { "*": "string" },
  created: "string",
  expires: "string | null",
  renewed: "string | null",
  num_uses: "integer",
  uses_left: "integer",
  period: "integer",
  explicit_max_ttl: "integer",
  orphan: "boolean",
  parent: "string | null",
  children: "integer",
  last_used: "string | null",
  tree: "string",
} as const satisfies Shape;

/** What a mount is called in answers. */
export interface MountName {
  /** With `auth/` and a slash at the end. */
  readonly path: string;
  /** "" for a mount that is no more. */
  readonly accessor: string;
}

/** Names the mounts of the installation by the ids that the inventory has. */
export function mountNames(installation: Installation): ReadonlyMap<string, MountName> {
  return new Map(
    installation.mounts.map((mount) => [
      mount.path === "token/" ? TOKEN_MOUNT : issuerOf(mount),
      { path: `auth/${mount.path}`, accessor: mount.accessor },
    ]),
  );
}

/** A token as the inventory shows it. Nothing of it lets anybody use the token. */
export function tokenObject(token: ListedToken, mounts: ReadonlyMap<string, MountName>): Record<string, unknown> {
  const mount = mounts.get(token.mount) ?? { path: folderOf(token.path), accessor: "" };
  return {
    accessor: token.accessor,
    display_name: token.displayName,
    path: token.path,
    role: token.role,
    mount: mount.path,
    mount_accessor: mount.accessor,
    type: "service",
    policies: token.policies,
    entity_id: token.entityId,
    metadata: token.metadata ?? {},
    created: formatRfc3339(createdAtOf(token)),
    expires: timeOf(token.expiresAt),
    renewed: timeOf(token.renewedAt),
    num_uses: token.numUses,
    uses_left: token.usesLeft,
    period: token.period,
    explicit_max_ttl: token.explicitMaxTtl,
    orphan: token.parent === null,
    parent: token.parent,
    children: token.children,
    last_used: timeOf(token.lastUsed),
    tree: decodeStoredId(token.accessor)?.treeId ?? "",
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : formatRfc3339(ms);
}

/** The path of a login without its last segment: where a mount was that is no more. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
