import { readRoute } from "../../../auth/record-routes.ts";
import {
  type Answered,
  type CallContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
} from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { accessorTarget, lookUpOf, outcomeOf, readTargetToken, tokenTarget } from "../../../auth/target.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { NOT_FOUND, ok, refuse } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { leaseIdOf } from "../../../lease/record.ts";
import { judged, type ListedToken } from "../../../listing/inventory/entry.ts";
import type { TokenFilter } from "../../../listing/inventory/filter.ts";
import { cursorText, type Order, type Position, readCursor, type TokenPage } from "../../../listing/inventory/order.ts";
import { findInInventory, pageOfInventory } from "../../../listing/inventory/queries.ts";
import { FRESHNESS_MS } from "../../../listing/updates/delays.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { isEnded } from "../../../system/watermarks.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { readAccessor } from "../../../token/ids.ts";
import { fieldSchema, strictSchema, text, type Values } from "../../../wire/fields.ts";
import { PAGE, type Page } from "../../../wire/page.ts";
import { dataReply } from "../../../wire/reply.ts";
import { END_VIEW, endedReply } from "./ended.ts";
import { FILTER, readFilter, readLimit, TOKEN_PAGE } from "./filter-fields.ts";
import { mountNames, TOKEN_VIEW } from "./token-view.ts";

/** Pages of the index that one request reads at most, while none of them has a token that the filter means. */
const MAX_ROUNDS = 4;

const ORDERS: Readonly<Record<string, Order>> = {
  created: { by: "created", descending: false },
  "-created": { by: "created", descending: true },
  end: { by: "end", descending: false },
  "-end": { by: "end", descending: true },
};

const LISTING = strictSchema({
  ...FILTER,
  sort: text().describe("Order: created, -created, end or -end."),
  ...TOKEN_PAGE,
});

const PAGE_SHAPE = { tokens: [TOKEN_VIEW.shape], next: "string", scanned: "integer", fresh_as_of: "string" } as const;

/** `sys/tokens`: all tokens that there are, page by page. */
export const TOKEN_LIST_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/tokens", {
    summary: "Tokens by a filter, page by page, with what is known about each.",
    operationId: "inventory-read-tokens",
    answers: dataAnswer(PAGE_SHAPE),
    input: LISTING,
    handle: async (context) => listed(context, false),
  }),
  simpleRoute("list", "sys/tokens", {
    summary: "Accessors of tokens by a filter, page by page, with what is known about each.",
    operationId: "inventory-list-tokens",
    answers: dataAnswer({ keys: ["string"], key_info: { "*": TOKEN_VIEW.shape }, ...PAGE_SHAPE }),
    input: LISTING,
    handle: async (context) => listed(context, true),
  }),
];

async function listed(context: CallContext<Values<typeof LISTING>>, withKeys: boolean): Answered {
  const { env, installation, fields } = context;
  const filter = await readFilter(context);
  if (!filter.ok) return filter;
  const order = ORDERS[fields.sort === "" ? "created" : fields.sort];
  if (!order) return refuse("sort is one of created, -created, end and -end");
  const after = fields.after === "" ? null : readCursor(order, fields.after);
  if (after === null && fields.after !== "") return refuse("after is not the cursor of a page in this order");
  const limit = readLimit(fields.limit);
  if (!limit.ok) return limit;
  const now = currentTime();
  await publishRecent(env, now);
  const page = await firstPage(env, filter.value, order, after, limit.value, now);
  // What a watermark ended stays in the inventory until it is cleaned up.
  const found = page.tokens.filter((token) => !isEnded(installation.watermarks, "open", judged(token)));
  const mounts = mountNames(installation);
  const tokens = found.map((token) => TOKEN_VIEW.show({ token, mounts }));
  const data = {
    ...(withKeys && keysOf(found, tokens)),
    tokens,
    next: page.next === null ? "" : cursorText(order, page.next),
    scanned: page.scanned,
    fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
  };
  return ok(dataReply(data));
}

/** The first page from `after` on that has a token, or the last one that this request reads. */
async function firstPage(
  env: Env,
  filter: TokenFilter,
  order: Order,
  after: Position | null,
  limit: number,
  now: number,
): Promise<TokenPage<ListedToken>> {
  let scanned = 0;
  let from = after;
  for (let round = 1; ; round++) {
    const page = await pageOfInventory(env, filter, order, from, limit, now);
    scanned += page.scanned;
    if (page.tokens.length > 0 || page.next === null || round === MAX_ROUNDS) return { ...page, scanned };
    from = page.next;
  }
}

function keysOf(tokens: readonly ListedToken[], objects: readonly Record<string, unknown>[]) {
  return {
    keys: tokens.map(({ accessor }) => accessor),
    key_info: Object.fromEntries(tokens.map(({ accessor }, at) => [accessor, objects[at]])),
  };
}

const ROW = /^\d{1,16}$/;

const COUNT_SHAPE = { count: "integer", more: "boolean" } as const;
const NODE_SHAPE = { token: TOKEN_VIEW.shape, descendants: COUNT_SHAPE } as const;

/**
 * `sys/tokens/find`: which token a text is that somebody has found. It is in the body: an address is seen by others.
 * `sys/tokens/:accessor`: where a token comes from, and what a revocation would take along.
 */
export const TOKEN_LINEAGE_ROUTES: readonly Route[] = withParameters({ accessor: "Accessor of the token." }, [
  tokenRoute("update", "sys/tokens/find", {
    summary: "Which token a token's text, or an accessor, belongs to.",
    operationId: "inventory-find-token",
    answers: dataAnswer(TOKEN_VIEW.shape),
    input: strictSchema({
      token: text().describe("The token."),
      accessor: text().describe("The accessor, in place of the token."),
    }),
    async prepare(context) {
      const { token, accessor } = context.fields;
      if ((token === "") === (accessor === "")) return refuse("a token or an accessor says which is meant");
      if (accessor !== "") return ok(await accessorTarget(context, accessor.trim()));
      const read = await readTargetToken(context, token);
      if (!read.ok) return read;
      return ok(read.value?.kind === "service" ? tokenTarget(read.value) : null);
    },
    async handle(context) {
      const { env, installation, prepared } = context;
      if (!prepared) return NOT_FOUND;
      const outcome = await outcomeOf(context, lookUpOf(prepared));
      if (!outcome.ok || outcome.value.kind !== "token") return NOT_FOUND;
      const { row } = outcome.value.token;
      const [entry] = (await treeOf(env, prepared.treeId)?.describe([row])) ?? [];
      return entry
        ? ok(dataReply(TOKEN_VIEW.show({ token: { ...entry, id: row }, mounts: mountNames(installation) })))
        : NOT_FOUND;
    },
  }),

  simpleRoute("read", "sys/tokens/:accessor", {
    summary:
      "A token with its ancestors, its children by page, and what a revocation would take along; or how it ended.",
    operationId: "inventory-read-lineage",
    answers: dataAnswer({
      token: TOKEN_VIEW.shape,
      "ended?": END_VIEW.shape,
      "ancestors?": [TOKEN_VIEW.shape],
      "ancestors_more?": "boolean",
      "children?": [{ ...TOKEN_VIEW.shape, descendants: COUNT_SHAPE }],
      "children_next?": "string",
      "descendants?": COUNT_SHAPE,
      "leases?": COUNT_SHAPE,
      "held_leases?": [{ lease_id: "string", expire_time: "string" }],
      "cubbyhole?": { values: "integer", bytes: "integer", more: "boolean" },
    }),
    input: fieldSchema({
      after: PAGE.after.describe("The cursor in children_next of the page before."),
      limit: PAGE.limit.describe("Children of the page: 1 to 1000, 100 when absent."),
    }),
    handle: readLineage,
  }),

  readRoute("sys/tokens/:accessor/tree", {
    summary: "A token with two levels below it, and how many tokens hang below each.",
    operationId: "inventory-read-tree",
    answers: dataAnswer({
      token: TOKEN_VIEW.shape,
      children: [{ ...NODE_SHAPE, children: [NODE_SHAPE] }],
      more: "boolean",
    }),
    handle: async ({ env, installation, params }) => {
      const address = await readAccessor(installation.keys, params.accessor ?? "");
      const found = address && (await treeOf(env, address.treeId)?.picture(address.row, address.tail));
      if (!found) return NOT_FOUND;
      const mounts = mountNames(installation);
      const children = found.children.map(({ token, descendants, children }) => ({
        token: TOKEN_VIEW.show({ token, mounts }),
        descendants,
        children: children.map((below) => ({ ...below, token: TOKEN_VIEW.show({ token: below.token, mounts }) })),
      }));
      return ok(dataReply({ token: TOKEN_VIEW.show({ token: found.token, mounts }), children, more: found.more }));
    },
  }),
]);

async function readLineage({ env, installation, params, fields }: CallContext<Page>): Answered {
  const limit = readLimit(fields.limit);
  if (!limit.ok) return limit;
  if (fields.after !== "" && !ROW.test(fields.after)) return refuse("after is not the cursor of a page");
  const address = await readAccessor(installation.keys, params.accessor ?? "");
  const tree = address && treeOf(env, address.treeId);
  const found = await tree?.lineage(
    address?.row ?? 0,
    address?.tail ?? new Uint8Array(),
    limit.value,
    Number(fields.after),
  );
  const mounts = mountNames(installation);
  if (!found) {
    const ended = address && (await endedReply(env, address, mounts));
    return ended ? ok(ended) : NOT_FOUND;
  }
  const tokens = [found.token, ...found.ancestors, ...found.children.map(({ token }) => token)];
  const listed = await findInInventory(
    env,
    tokens.flatMap(({ accessor, lastUsed }) => (lastUsed === null ? [accessor] : [])),
  );
  // A tree keeps the last use in memory alone, and the list has it from then on.
  const shown = (token: ListedToken) =>
    TOKEN_VIEW.show({
      token: { ...token, lastUsed: token.lastUsed ?? listed.get(token.accessor)?.lastUsed ?? null },
      mounts,
    });
  return ok(
    dataReply({
      token: shown(found.token),
      ancestors: found.ancestors.map(shown),
      ancestors_more: found.ancestorsMore,
      children: found.children.map(({ token, descendants }) => ({ ...shown(token), descendants })),
      children_next: found.next === null ? "" : String(found.next),
      descendants: found.descendants,
      leases: found.leases,
      held_leases: found.heldLeases.map((lease) => ({
        lease_id: leaseIdOf(lease),
        expire_time: formatRfc3339(lease.expiresAt),
      })),
      cubbyhole: found.cubbyhole,
    }),
  );
}
