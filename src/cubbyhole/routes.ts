import { z } from "zod";
import { openData, sealData } from "../crypto/key-ring.ts";
import { DENIED, type Failure, invalid } from "../errors.ts";
import { ANY_FIELDS, integer, text } from "../http/fields.ts";
import { dataReply, EMPTY, keysReply } from "../http/reply.ts";
import { type CallContext, type PresentedContext, type Route, tokenRoute } from "../http/route.ts";
import { err, ok, type Result } from "../result.ts";
import type { Outcome } from "../token/actions.ts";

/** Names that one unpaged list gives at most. */
const MAX_LIST = 10_000;

const NO_BATCH = invalid("cubbyhole operations are only supported by 'service' type tokens");

/**
 * The private store of each service token. Nobody else reaches it, root included: the rows belong to the caller's own row
 * in its tree, and the values are sealed for that row and path.
 */
export const CUBBYHOLE_ROUTES: readonly Route[] = [
  tokenRoute("read", "cubbyhole/:path{.+}", z.object({}), {
    prepare: (context) => refuseBatch(context),
    action: async ({ params }) => ({ kind: "cubbyhole_read", path: params.path ?? "" }),
    async handle(context) {
      const outcome = outcomeOf(context);
      if (!outcome.ok) return outcome;
      if (outcome.value.kind !== "value") throw new Error("a read ends in a value");
      const { keys } = context.installation;
      const plain = await openData(keys, sealContext(context, context.params.path ?? ""), outcome.value.sealed);
      if (!plain) throw new Error("a cubbyhole value does not open");
      return ok(dataReply(JSON.parse(new TextDecoder().decode(plain)) as Record<string, unknown>));
    },
  }),

  tokenRoute("update", "cubbyhole/:path{.+}", ANY_FIELDS, {
    createsOrUpdates: true,
    async prepare(context): Promise<Result<Uint8Array, Failure>> {
      const refused = await refuseBatch(context);
      if (!refused.ok) return refused;
      if (Object.keys(context.fields).length === 0) return err(invalid("missing data fields"));
      const plain = new TextEncoder().encode(JSON.stringify(context.fields));
      return ok(await sealData(context.installation.keys, sealContext(context, context.params.path ?? ""), plain));
    },
    action: async ({ params, prepared }) => ({ kind: "cubbyhole_write", path: params.path ?? "", sealed: prepared }),
    async handle(context) {
      const outcome = outcomeOf(context);
      return outcome.ok ? ok(EMPTY) : outcome;
    },
  }),

  tokenRoute("delete", "cubbyhole/:path{.+}", z.object({}), {
    prepare: (context) => refuseBatch(context),
    action: async ({ params }) => ({ kind: "cubbyhole_delete", path: params.path ?? "" }),
    async handle(context) {
      const outcome = outcomeOf(context);
      return outcome.ok ? ok(EMPTY) : outcome;
    },
  }),

  listRoute("cubbyhole"),
  listRoute("cubbyhole/:path{.+}"),
];

function listRoute(path: string): Route {
  return tokenRoute("list", path, z.object({ after: text(), limit: integer(0) }), {
    prepare: (context) => refuseBatch(context),
    action: async ({ params, fields }) => ({
      kind: "cubbyhole_list",
      prefix: params.path ? `${params.path}/` : "",
      after: fields.after,
      limit: fields.limit > 0 ? Math.min(fields.limit, MAX_LIST) : MAX_LIST,
    }),
    async handle(context) {
      const outcome = outcomeOf(context);
      if (!outcome.ok) return outcome;
      if (outcome.value.kind !== "keys") throw new Error("a list ends in keys");
      return ok(keysReply(outcome.value.keys));
    },
  });
}

async function refuseBatch({ presented }: PresentedContext<unknown>): Promise<Result<null, Failure>> {
  return presented.kind === "batch" ? err(NO_BATCH) : ok(null);
}

function outcomeOf(context: CallContext<unknown, unknown>): Result<Outcome, Failure> {
  return context.outcome ?? err(DENIED);
}

/** Binds a value to its token and path: copied to another row or path in the storage it would not open. */
function sealContext({ presented }: PresentedContext<unknown>, path: string): string {
  if (presented.kind !== "service") throw new Error("only service tokens have a cubbyhole");
  return `cubbyhole ${presented.credential.treeId} ${presented.credential.row} ${path}`;
}
