import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { createdAtOf, type ListedToken, TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import type { Installation } from "../../../system/installation.ts";
import { issuerOf } from "../../../system/mount.ts";
import { treeIdOf } from "../../../token/ids.ts";
import { view } from "../../../wire/view.ts";

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

/** Groups by mount, under the paths of the mounts. One of a mount that is no more keeps its id. */
export function byMountPath<G extends { readonly key: string }>(
  groups: readonly G[],
  mounts: ReadonlyMap<string, MountName>,
): G[] {
  return groups.map((group) => ({ ...group, key: mounts.get(group.key)?.path ?? group.key }));
}

/** How many tokens the groups have together. */
export function sumOfCounts(groups: readonly { readonly count: number }[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** A token as the inventory shows it. Nothing of it lets anybody use the token. */
export const TOKEN_VIEW = view<{ readonly token: ListedToken; readonly mounts: ReadonlyMap<string, MountName> }>({
  accessor: ["string", ({ token }) => token.accessor],
  display_name: ["string", ({ token }) => token.displayName],
  path: ["string", ({ token }) => token.path],
  role: ["string", ({ token }) => token.role],
  mount: ["string", ({ token, mounts }) => mounts.get(token.mount)?.path ?? folderOf(token.path)],
  mount_accessor: ["string", ({ token, mounts }) => mounts.get(token.mount)?.accessor ?? ""],
  type: ["string", () => "service"],
  policies: [["string"], ({ token }) => token.policies],
  entity_id: ["string", ({ token }) => token.entityId],
  metadata: [{ "*": "string" }, ({ token }) => token.metadata ?? {}],
  created: ["string", ({ token }) => formatRfc3339(createdAtOf(token))],
  expires: ["string | null", ({ token }) => formatTime(token.expiresAt)],
  renewed: ["string | null", ({ token }) => formatTime(token.renewedAt)],
  num_uses: ["integer", ({ token }) => token.numUses],
  uses_left: ["integer", ({ token }) => token.usesLeft],
  period: ["integer", ({ token }) => token.period],
  explicit_max_ttl: ["integer", ({ token }) => token.explicitMaxTtl],
  orphan: ["boolean", ({ token }) => token.parent === null],
  parent: ["string | null", ({ token }) => token.parent],
  children: ["integer", ({ token }) => token.children],
  last_used: ["string | null", ({ token }) => formatTime(token.lastUsed)],
  tree: ["string", ({ token }) => treeIdOf(token.accessor)],
});

/** The path of a login without its last segment: where a mount was that is no more. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
