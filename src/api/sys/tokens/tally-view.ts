import { GROUPINGS, type Groups, type Tally } from "../../../listing/inventory/tally.ts";
import type { Shape } from "../../../wire/shape.ts";
import type { MountName } from "./token-view.ts";

const GROUPS = [{ key: "string", count: "integer" }] as const;

/** The shape of what a revocation would end. */
export const TALLY_SHAPE = {
  count: "integer",
  total: "integer",
  leases: { count: "integer", more: "boolean" },
  by: { mount: GROUPS, type: GROUPS, role: GROUPS, owner: GROUPS },
  by_other: { mount: "integer", role: "integer", owner: "integer" },
  skipped: { root: "integer", self: "integer" },
} as const satisfies Shape;

/** The shape of the numbers alone. */
export const NUMBERS_SHAPE = {
  count: TALLY_SHAPE.count,
  total: TALLY_SHAPE.total,
  leases: TALLY_SHAPE.leases,
  skipped: TALLY_SHAPE.skipped,
} as const satisfies Shape;

/** What a revocation would end, without its groups. */
export function numbersObject({ matched, total, leases, root, self }: Omit<Tally, "by">) {
  return { count: matched, total, leases, skipped: { root, self } };
}

/** What a revocation would end, as answers show it: the greatest groups first. */
export function tallyObject(tally: Tally, mounts: ReadonlyMap<string, MountName>) {
  const { total, by } = tally;
  const groups = ({ named }: Groups) =>
    [...named].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).filter(({ count }) => count > 0);
  return {
    ...numbersObject(tally),
    by: {
      mount: groups(by.mount).map(({ key, count }) => ({ key: mounts.get(key)?.path ?? key, count })),
      // Tokens of other types have no place in a list, and end with the token that they hang on.
      type: total > 0 ? [{ key: "service", count: total }] : [],
      role: groups(by.role),
      owner: groups(by.owner),
    },
    by_other: Object.fromEntries(GROUPINGS.map((name) => [name, by[name].other])),
  };
}
