import { formatRfc3339, formatTime } from "../../../base/clock.ts";
import { createdAtOf, type ListedToken, TOKEN_MOUNT } from "../../../listing/inventory/entry.ts";
import type { Installation } from "../../../system/installation.ts";
import { mountIssuerOf } from "../../../system/mount.ts";
import { treeIdOf } from "../../../token/ids.ts";
import { view } from "../../../wire/view.ts";

/** The path (`auth/<path>/`) and the accessor of each mount, by the id that the inventory stores for it. */
type MountNames = ReadonlyMap<string, { readonly path: string; readonly accessor: string }>;

function mountNames({ mounts }: Installation): MountNames {
  return new Map(
    mounts.map((mount) => [
      mount.path === "token/" ? TOKEN_MOUNT : mountIssuerOf(mount),
      { path: `auth/${mount.path}`, accessor: mount.accessor },
    ]),
  );
}

/** Returns the function that gives the path of a mount for its id; for a mount that was disabled, the id. */
export function mountPaths(installation: Installation): (id: string) => string {
  const mounts = mountNames(installation);
  return (id) => mounts.get(id)?.path ?? id;
}

/** Replaces the ids of mounts in the keys of groups by their paths. */
export function byMountPath<G extends { readonly key: string }>(groups: readonly G[], installation: Installation): G[] {
  const pathOf = mountPaths(installation);
  return groups.map((group) => ({ ...group, key: pathOf(group.key) }));
}

/** Returns the number of tokens in all groups together. */
export function sumOfCounts(groups: readonly { readonly count: number }[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** A token as the inventory shows it. It contains nothing with which the token could be used. */
const TOKEN_VIEW = view<{ readonly token: ListedToken; readonly mounts: MountNames }>({
  accessor: ["string", ({ token }) => token.accessor],
  display_name: ["string", ({ token }) => token.displayName],
  path: ["string", ({ token }) => token.path],
  role: ["string", ({ token }) => token.role],
  // The mount of a token may be disabled: the path of its login says where it was.
  mount: [
    "string",
    ({ token, mounts }) => mounts.get(token.mount)?.path ?? token.path.slice(0, token.path.lastIndexOf("/") + 1),
  ],
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

/** The shape of a token in answers. */
export const TOKEN_SHAPE = TOKEN_VIEW.shape;

/** Returns the function that shows a token in answers. */
export function tokenRenderer(installation: Installation): (token: ListedToken) => Record<string, unknown> {
  const mounts = mountNames(installation);
  return (token) => TOKEN_VIEW.show({ token, mounts });
}
