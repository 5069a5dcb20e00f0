import {
  type CallContext,
  type PresentedContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
} from "../auth/route.ts";
import { dataAnswer, ENVELOPE, KEYS, NO_CONTENT } from "../auth/route-description.ts";
import { DENIED, err, invalid, ok, type Result, refuse } from "../base/result.ts";
import type { Outcome } from "../token/actions.ts";
import type { TokenAddress } from "../token/ids.ts";
import { isWrappingToken } from "../token/wrapping-token.ts";
import { openValue, sealValue } from "../tree/cubbyhole/seal.ts";
import { ANY_FIELDS, fieldSchema, NO_FIELDS } from "../wire/fields.ts";
import { PAGE } from "../wire/page.ts";
import { dataReply, doneReply, EMPTY, keysReply, RESPONSE_PATH } from "../wire/reply.ts";

/** Names that one unpaged list gives at most. */
const MAX_LIST = 10_000;

/** What a client learns that reads a wrapped answer the old way. */
const READ_BY_UNWRAPPING =
  "Reading from 'cubbyhole/response' is deprecated. Use sys/wrapping/unwrap, which also checks the wrapping token";

const ONLY_SERVICE = invalid("cubbyhole operations are only supported by 'service' type tokens");

/**
 * The private store of each service token. No other token reaches it, root included: the rows belong to the caller's own row
 * in its tree, and the values are sealed for that row and path. Messages are the reference's (cubbyhole).
 */
export const CUBBYHOLE_ROUTES: readonly Route[] = withParameters({ path: "Where it is kept" }, [
  ...["", "/"].flatMap((end) => {
    const path = `cubbyhole${end}`;
    const id = `cubbyhole-root${end === "" ? "" : "2"}`;
    return [
      simpleRoute(["read", "update"], path, {
        summary: "Refuses: a path is missing.",
        operationId: { read: `${id}-read`, update: `${id}-write` },
        fields: {},
        answers: ENVELOPE,
        input: ANY_FIELDS,
        handle: async () => refuse("missing path"),
      }),
      simpleRoute("delete", path, {
        summary: "Does nothing: a path is missing.",
        operationId: `${id}-delete`,
        answers: NO_CONTENT,
        input: NO_FIELDS,
        handle: async () => ok(EMPTY),
      }),
    ];
  }),
  tokenRoute("read", "cubbyhole/:path{.+}", {
    summary: "Reads what the caller's token keeps at a path.",
    operationId: "cubbyhole-read",
    answers: dataAnswer({ "*": "any" }),
    input: NO_FIELDS,
    prepare: ownCubbyhole,
    action: async ({ params }) => ({ kind: "cubbyhole_read", path: params.path ?? "" }),
    async handle(context) {
      const outcome = outcomeOf(context);
      if (!outcome.ok) return outcome;
      if (outcome.value.kind !== "value") throw new Error("a read ends in a value");
      const path = context.params.path ?? "";
      const value = await openValue(context.installation.keys, context.prepared, path, outcome.value.sealed);
      const wrapped = path === RESPONSE_PATH && isWrappingToken(context.caller.record);
      return ok(dataReply(value, wrapped ? [READ_BY_UNWRAPPING] : []));
    },
  }),

  tokenRoute("update", "cubbyhole/:path{.+}", {
    summary: "Keeps fields at a path, for the caller's token alone.",
    operationId: "cubbyhole-write",
    fields: { "*": { shape: "any", description: "Whatever is to be kept" } },
    answers: NO_CONTENT,
    input: ANY_FIELDS,
    createsOrUpdates: true,
    async prepare(context): Promise<Result<Uint8Array>> {
      const owner = await ownCubbyhole(context);
      if (!owner.ok) return owner;
      if (Object.keys(context.fields).length === 0) return refuse("missing data fields");
      const { keys } = context.installation;
      return ok(await sealValue(keys, owner.value, context.params.path ?? "", context.fields));
    },
    action: async ({ params, prepared }) => ({ kind: "cubbyhole_write", path: params.path ?? "", sealed: prepared }),
    handle: async (context) => doneReply(outcomeOf(context)),
  }),

  tokenRoute("delete", "cubbyhole/:path{.+}", {
    summary: "Deletes what is kept at a path.",
    operationId: "cubbyhole-delete",
    answers: NO_CONTENT,
    input: NO_FIELDS,
    prepare: ownCubbyhole,
    action: async ({ params }) => ({ kind: "cubbyhole_delete", path: params.path ?? "" }),
    handle: async (context) => doneReply(outcomeOf(context)),
  }),

  listRoute("cubbyhole", "cubbyhole-list"),
  listRoute("cubbyhole/:path{.+}", "cubbyhole-list-below"),
]);

function listRoute(path: string, operationId: string): Route {
  return tokenRoute("list", path, {
    summary: "Lists the names that the caller's token keeps things at.",
    operationId,
    answers: KEYS,
    input: fieldSchema(PAGE),
    prepare: ownCubbyhole,
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

/** The token that the cubbyhole belongs to. */
async function ownCubbyhole({
  presented,
}: Pick<PresentedContext<unknown>, "presented">): Promise<Result<TokenAddress>> {
  return presented.kind === "service" ? ok(presented.credential) : err(ONLY_SERVICE);
}

function outcomeOf(context: CallContext): Result<Outcome> {
  return context.outcome ?? err(DENIED);
}
