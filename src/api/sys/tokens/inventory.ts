import {
  type Answered,
  type CallContext,
  type PresentedContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
} from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../../../base/result.ts";
import { leaseIdOf } from "../../../lease/actions.ts";
import { judged, type ListedToken } from "../../../listing/inventory/entry.ts";
import { withLastUses } from "../../../listing/inventory/last-uses.ts";
import { cursorText, type Order, type OrderPosition, readCursor } from "../../../listing/inventory/page-cursor.ts";
import { pageOfInventory } from "../../../listing/inventory/queries.ts";
import { FRESHNESS_MS, publishRecent } from "../../../listing/updates/publish.ts";
import { isEnded } from "../../../system/watermarks.ts";
import { readAccessor } from "../../../token/ids.ts";
import { treeAt } from "../../../token/tree-stub.ts";
import type { Lineage } from "../../../tree/lineage.ts";
import { fieldSchema, strictSchema, type Values } from "../../../wire/field-schema.ts";
import { text } from "../../../wire/fields.ts";
import { PAGE, type PageFields } from "../../../wire/pagination.ts";
import { dataReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { END_VIEW } from "./end-of-token.ts";
import { endedTokenReply } from "./ended.ts";
import { completeFilter, FILTER, type ReadFilter, readFilter, readLimit, TOKEN_PAGE } from "./filter-fields.ts";
import { TOKEN_SHAPE, tokenRenderer } from "./token-view.ts";

/** Maximum number of pages of the index that one request reads while no token matches the filter. */
const MAX_ROUNDS = 4;

/** By the values of `sort`. */
const ORDERS: ReadonlyMap<string, Order> = new Map([
  ["", { by: "created", descending: false }],
  ["created", { by: "created", descending: false }],
  ["-created", { by: "created", descending: true }],
  ["end", { by: "end", descending: false }],
  ["-end", { by: "end", descending: true }],
]);

const LISTING = strictSchema({
  ...FILTER,
  sort: text().describe("Order: created, -created, end or -end."),
  ...TOKEN_PAGE,
});

const PAGE_SHAPE = { tokens: [TOKEN_SHAPE], next: "string", scanned: "integer", fresh_as_of: "string" } as const;

type ListingFields = Values<typeof LISTING>;

interface Listing {
  readonly filter: ReadFilter;
  readonly order: Order;
  readonly after: OrderPosition | null;
}

async function readListing(context: PresentedContext<ListingFields>): Promise<Result<Listing>> {
  const { fields } = context;
  const filter = await readFilter(context);
  if (!filter.ok) return filter;
  const order = ORDERS.get(fields.sort);
  if (!order) return refuse("sort is one of created, -created, end and -end");
  const after = fields.after === "" ? null : readCursor(order, fields.after);
  if (after === null && fields.after !== "") return refuse("after is not the cursor of a page in this order");
  const limit = readLimit(fields.limit);
  return limit.ok ? ok({ filter: filter.value, order, after }) : limit;
}

async function listTokens(context: CallContext<ListingFields, Listing>, withKeys: boolean): Answered {
  const { env, installation, fields, prepared } = context;
  const { order, after } = prepared;
  // Read again, because the policies may have lowered the limit.
  const limit = readLimit(fields.limit);
  if (!limit.ok) return limit;
  const filter = await completeFilter(env, prepared.filter);
  if (!filter.ok) return filter;
  const now = currentTime();
  await publishRecent(env, now);
  const query = { filter: filter.value, order, limit: limit.value, now };
  let page = await pageOfInventory(env, { ...query, after });
  let { scanned } = page;
  for (let round = 1; page.tokens.length === 0 && page.next !== null && round < MAX_ROUNDS; round++) {
    page = await pageOfInventory(env, { ...query, after: page.next });
    scanned += page.scanned;
  }
  // The inventory still has the tokens that a watermark has ended, until they are cleaned up.
  const found = page.tokens.filter((token) => !isEnded(installation.watermarks, "open", judged(token)));
  const tokens = found.map(tokenRenderer(installation));
  return dataReply({
    ...(withKeys && {
      keys: found.map(({ accessor }) => accessor),
      key_info: Object.fromEntries(found.map(({ accessor }, at) => [accessor, tokens[at]])),
    }),
    tokens,
    next: page.next === null ? "" : cursorText(order, page.next),
    scanned,
    fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
  });
}

const COUNT_SHAPE = { count: "integer", more: "boolean" } as const;
const HELD_LEASE_VIEW = view<Lineage["heldLeases"][number]>({
  lease_id: ["string", leaseIdOf],
  expire_time: ["string", ({ expiresAt }) => formatRfc3339(expiresAt)],
});
const NODE_SHAPE = { token: TOKEN_SHAPE, descendants: COUNT_SHAPE } as const;

/** The relatives of a token, and all that ends with it. */
const RELATIVES_VIEW = view<{ readonly found: Lineage; readonly show: ReturnType<typeof tokenRenderer> }>({
  ancestors: [[TOKEN_SHAPE], ({ found, show }) => found.ancestors.map(show)],
  ancestors_more: ["boolean", ({ found }) => found.ancestorsMore],
  children: [
    [{ ...TOKEN_SHAPE, descendants: COUNT_SHAPE }],
    ({ found, show }) => found.children.map(({ token, descendants }) => ({ ...show(token), descendants })),
  ],
  children_next: ["string", ({ found }) => (found.next === null ? "" : String(found.next))],
  descendants: [COUNT_SHAPE, ({ found }) => found.descendants],
  leases: [COUNT_SHAPE, ({ found }) => found.leases],
  "failing_leases?": ["integer", ({ found }) => found.failingLeases],
  held_leases: [[HELD_LEASE_VIEW.shape], ({ found }) => found.heldLeases.map(HELD_LEASE_VIEW.show)],
  cubbyhole: [{ values: "integer", bytes: "integer", more: "boolean" }, ({ found }) => found.cubbyhole],
});

/** The list of all tokens, as a read and as a list, and one token with its relatives. */
export const INVENTORY_ROUTES: readonly Route[] = withParameters({ accessor: "Accessor of the token." }, [
  tokenRoute("read", "sys/tokens", {
    summary: "Lists tokens by a filter, with their properties.",
    operationId: "inventory-read-tokens",
    answers: dataAnswer(PAGE_SHAPE),
    input: LISTING,
    prepare: readListing,
    handle: (context) => listTokens(context, false),
  }),
  tokenRoute("list", "sys/tokens", {
    summary: "Lists accessors by a filter, with the tokens' properties.",
    operationId: "inventory-list-tokens",
    answers: dataAnswer({ keys: ["string"], key_info: { "*": TOKEN_SHAPE }, ...PAGE_SHAPE }),
    input: LISTING,
    prepare: readListing,
    handle: (context) => listTokens(context, true),
  }),
  tokenRoute("read", "sys/tokens/:accessor", {
    summary: "Shows a token with its ancestors, its children and what ends with it; or how it ended.",
    operationId: "inventory-read-lineage",
    answers: [
      dataAnswer({ token: TOKEN_SHAPE, ...RELATIVES_VIEW.shape }),
      dataAnswer({ token: TOKEN_SHAPE, ended: END_VIEW.shape }),
    ],
    input: fieldSchema({
      after: PAGE.after.describe("The cursor in children_next of the previous page."),
      limit: PAGE.limit.describe("Children of the page: 1 to 1000, 100 by default."),
    }),
    prepare: async ({ fields }) => {
      const limit = readLimit(fields.limit);
      if (!limit.ok) return limit;
      return /^\d{0,16}$/.test(fields.after) ? limit : refuse("after is not the cursor of a page");
    },
    handle: readLineage,
  }),

  simpleRoute("read", "sys/tokens/:accessor/tree", {
    summary: "Shows a token with two levels of descendants, with their counts.",
    operationId: "inventory-read-tree",
    answers: dataAnswer({
      token: TOKEN_SHAPE,
      children: [{ ...NODE_SHAPE, children: [NODE_SHAPE] }],
      more: "boolean",
    }),
    handle: async ({ env, installation, params }) => {
      const address = await readAccessor(installation.keys, params.accessor ?? "");
      const found = address && (await treeAt(env, address.treeId).picture(address.row, address.tail));
      if (!found) return NOT_FOUND;
      const render = tokenRenderer(installation);
      const below = found.children.flatMap(({ token, children }) => [token, ...children.map((one) => one.token)]);
      const used = await withLastUses(env, [found.token, ...below]);
      const show = (token: ListedToken) => render(used(token));
      const children = found.children.map(({ token, descendants, children }) => ({
        token: show(token),
        descendants,
        children: children.map((below) => ({ ...below, token: show(below.token) })),
      }));
      return dataReply({ token: show(found.token), children, more: found.more });
    },
  }),
]);

async function readLineage({ env, installation, params, fields, prepared }: CallContext<PageFields, number>): Answered {
  const address = await readAccessor(installation.keys, params.accessor ?? "");
  if (!address) return NOT_FOUND;
  const { treeId, row, tail } = address;
  const found = await treeAt(env, treeId).lineage(row, tail, prepared, Number(fields.after));
  if (!found) return (await endedTokenReply(env, address, installation)) ?? NOT_FOUND;
  const tokens = [found.token, ...found.ancestors, ...found.children.map(({ token }) => token)];
  const used = await withLastUses(env, tokens);
  const render = tokenRenderer(installation);
  const show = (token: ListedToken) => render(used(token));
  return dataReply({ token: show(found.token), ...RELATIVES_VIEW.show({ found, show }) });
}
