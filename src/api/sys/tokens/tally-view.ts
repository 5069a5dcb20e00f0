import { GROUPINGS, type Groups, type Tally } from "../../../listing/inventory/tally.ts";
import type { Shape } from "../../../wire/shape.ts";
import { fieldsOf, inner, type ViewFields, view } from "../../../wire/view.ts";
import type { MountName } from "./token-view.ts";

type Numbers = Omit<Tally, "by">;

const NUMBERS: ViewFields<Numbers> = {
  count: ["integer", (tally) => tally.matched],
  total: ["integer", (tally) => tally.total],
  leases: [{ count: "integer", more: "boolean" }, (tally) => tally.leases],
  skipped: inner({ root: ["integer", (tally) => tally.root], self: ["integer", (tally) => tally.self] }),
};

/** What a revocation would end, without its groups. */
export const NUMBERS_VIEW = view(NUMBERS);

/** What a revocation would end, with the names of mounts. */
interface ShownTally {
  readonly tally: Tally;
  readonly mounts: ReadonlyMap<string, MountName>;
}

const GROUPS: Shape = [{ key: "string", count: "integer" }];

/** What a revocation would end, as answers show it: the greatest groups first. */
export const TALLY_VIEW = view<ShownTally>({
  ...fieldsOf(({ tally }) => tally, NUMBERS),
  by: inner({
    mount: [
      GROUPS,
      ({ tally, mounts }) =>
        greatestFirst(tally.by.mount).map(({ key, count }) => ({ key: mounts.get(key)?.path ?? key, count })),
    ],
    // Tokens of other types have no place in a list, and end with the token that they hang on.
    type: [GROUPS, ({ tally: { total } }) => (total > 0 ? [{ key: "service", count: total }] : [])],
    role: [GROUPS, ({ tally }) => greatestFirst(tally.by.role)],
    owner: [GROUPS, ({ tally }) => greatestFirst(tally.by.owner)],
  }),
  by_other: [
    { mount: "integer", role: "integer", owner: "integer" },
    ({ tally }) => Object.fromEntries(GROUPINGS.map((name) => [name, tally.by[name].other])),
  ],
});

function greatestFirst({ named }: Groups) {
  return [...named].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).filter(({ count }) => count > 0);
}
