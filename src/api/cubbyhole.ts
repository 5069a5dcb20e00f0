import {
  type CallContext,
  type PresentedContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
} from "../auth/route.ts";
import { dataAnswer, ENVELOPE, KEYS, NO_CONTENT } from "../auth/route-description.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import type { Outcome } from "../token/actions.ts";
import type { TokenAddress } from "../token/ids.ts";
import { isWrappingToken } from "../token/record.ts";
import { openValue, sealValue } from "../tree/cubbyhole.ts";
import { ANY_FIELDS, fieldSchema } from "../wire/field-schema.ts";
import { PAGE } from "../wire/pagination.ts";
import { dataReply, doneReply, EMPTY, RESPONSE_PATH } from "../wire/reply.ts";

const MAX_LIST = 10_000;

const MISSING_PATH = refuse("missing path");

const READ_BY_UNWRAPPING =
  "Reading from 'cubbyhole/response' is deprecated. Use sys/wrapping/unwrap, which also checks the wrapping token";

/**
 * The private store of each service token. No other token can read it, not even a root token: its rows belong to the row
 * of the caller's token, and its values are sealed for that row and path. Messages are the reference's (cubbyhole).
 */
export const CUBBYHOLE_ROUTES: readonly Route[] = withParameters({ path: "The path of the value" }, [
  ...["", "/"].flatMap((end) => {
    const path = `cubbyhole${end}`;
    const id = `cubbyhole-root${end === "" ? "" : "2"}`;
    return [
      tokenRoute(["read", "update"], path, {
        summary: "Refuses the request: the path is missing.",
        operationId: { read: `${id}-read`, update: `${id}-write` },
        fields: {},
        answers: ENVELOPE,
        input: ANY_FIELDS,
        prepare: async () => MISSING_PATH,
        handle: async () => MISSING_PATH,
      }),
      simpleRoute("delete", path, {
        summary: "Does nothing: the path is missing.",
        operationId: `${id}-delete`,
        answers: NO_CONTENT,
        handle: async () => ok(EMPTY),
      }),
    ];
  }),
  tokenRoute("read", "cubbyhole/:path{.+}", {
    summary: "Reads the value at a path in the cubbyhole of the caller's token.",
    operationId: "cubbyhole-read",
    answers: dataAnswer({ "*": "any" }),
    prepare: ownCubbyhole,
    action: async ({ params }) => ({ kind: "cubbyhole_read", path: params.path ?? "" }),
    async handle(context) {
      const outcome = performed(context);
      if (!outcome.ok) return outcome;
      if (outcome.value.kind !== "value") throw new Error("a read ends in a value");
      const path = context.params.path ?? "";
      const value = await openValue(context.installation.keys, context.prepared, path, outcome.value.sealed);
      const wrapped = path === RESPONSE_PATH && isWrappingToken(context.caller.record);
      return dataReply(value, wrapped ? [READ_BY_UNWRAPPING] : []);
    },
  }),

  tokenRoute("update", "cubbyhole/:path{.+}", {
    summary: "Stores fields at a path in the cubbyhole of the caller's token.",
    operationId: "cubbyhole-write",
    fields: { "*": { shape: "any", description: "Any field is stored" } },
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
    handle: async (context) => doneReply(performed(context)),
  }),

  tokenRoute("delete", "cubbyhole/:path{.+}", {
    summary: "Deletes the value at a path.",
    operationId: "cubbyhole-delete",
    answers: NO_CONTENT,
    prepare: ownCubbyhole,
    action: async ({ params }) => ({ kind: "cubbyhole_delete", path: params.path ?? "" }),
    handle: async (context) => doneReply(performed(context)),
  }),

  listRoute("cubbyhole", "cubbyhole-list"),
  listRoute("cubbyhole/:path{.+}", "cubbyhole-list-below"),
]);

function listRoute(path: string, operationId: string): Route {
  return tokenRoute("list", path, {
    summary: "Lists the names in the cubbyhole of the caller's token.",
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
      const outcome = performed(context);
      if (!outcome.ok) return outcome;
      if (outcome.value.kind !== "keys") throw new Error("a list ends in keys");
      return dataReply({ keys: outcome.value.keys });
    },
  });
}

async function ownCubbyhole({
  presented,
}: Pick<PresentedContext<unknown>, "presented">): Promise<Result<TokenAddress>> {
  if (presented.kind === "service") return ok(presented.credential);
  return refuse("cubbyhole operations are only supported by 'service' type tokens");
}

/** Returns the outcome of the action, which the call that authenticates has performed. */
function performed(context: CallContext): Result<Outcome> {
  return context.outcome ?? err(DENIED);
}
