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
import { accessorTarget, outcomeOf, readTargetToken, tokenTarget } from "../../../auth/target.ts";
import { formatRfc3339 } from "../../../base/clock.ts";
import { err, invalid, ok } from "../../../base/result.ts";
import { leaseIdOf } from "../../../lease/record.ts";
import type { ListedToken } from "../../../listing/inventory/entry.ts";
import { findInInventory } from "../../../listing/inventory/queries.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { readAccessor } from "../../../token/ids.ts";
import { fieldSchema, strictSchema, text } from "../../../wire/fields.ts";
import { PAGE, type Page } from "../../../wire/page.ts";
import { dataReply } from "../../../wire/reply.ts";
import { END_VIEW, endedReply } from "./ended.ts";
import { readLimit } from "./filter-fields.ts";
import { mountNames, TOKEN_VIEW } from "./token-view.ts";

const NOT_FOUND = { code: "not_found" } as const;

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
      if ((token === "") === (accessor === "")) return err(invalid("a token or an accessor says which is meant"));
      if (accessor !== "") return ok(await accessorTarget(context, accessor.trim()));
      const read = await readTargetToken(context, token);
      if (!read.ok) return read;
      return ok(read.value?.kind === "service" ? tokenTarget(read.value) : null);
    },
    async handle(context) {
      const { env, installation, prepared } = context;
      if (!prepared) return err(NOT_FOUND);
      const { treeId, target } = prepared;
      const outcome = await outcomeOf(context, { treeId, action: { kind: "lookup", target } });
      if (!outcome.ok || outcome.value.kind !== "token") return err(NOT_FOUND);
      const { row } = outcome.value.token;
      const [entry] = (await treeOf(env, treeId)?.describe([row])) ?? [];
      return entry
        ? ok(dataReply(TOKEN_VIEW.show({ token: { ...entry, id: row }, mounts: mountNames(installation) })))
        : err(NOT_FOUND);
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
      if (!found) return err({ code: "not_found" });
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
  if (fields.after !== "" && !ROW.test(fields.after)) return err(invalid("after is not the cursor of a page"));
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
    return ended ? ok(ended) : err({ code: "not_found" });
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
