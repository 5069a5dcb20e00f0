import { type Answered, type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { err, invalid, ok } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import { judged, type ListedToken } from "../../../listing/inventory/entry.ts";
import type { TokenFilter } from "../../../listing/inventory/filter.ts";
import { cursorText, type Order, type Position, readCursor, type TokenPage } from "../../../listing/inventory/order.ts";
import { pageOfInventory } from "../../../listing/inventory/queries.ts";
import { FRESHNESS_MS } from "../../../listing/updates/delays.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { isEnded } from "../../../system/watermarks.ts";
import { strictSchema, text, type Values } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
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
  if (!order) return err(invalid("sort is one of created, -created, end and -end"));
  const after = fields.after === "" ? null : readCursor(order, fields.after);
  if (after === null && fields.after !== "") return err(invalid("after is not the cursor of a page in this order"));
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
