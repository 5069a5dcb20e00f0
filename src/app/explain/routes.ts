import { type Subject, subjectOfAccessor, subjectOfToken } from "../../auth/explain.ts";
import { type CallContext, type Route, tokenRoute, withAlternatePath } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { MAX_TOKEN_LENGTH } from "../../base/limits.ts";
import { err, invalid, ok, type Result } from "../../base/result.ts";
import type { Operation } from "../../policy/acl.ts";
import { anyObject, duration, fieldSchema, sent, text, unread, type Values } from "../../wire/fields.ts";
import { dataReply, type Reply } from "../../wire/reply.ts";
import { isListing, pathProblem, readNamespace } from "../../wire/request.ts";
import type { Tables } from "../places.ts";
import { type AskedRequest, EXPLANATION, explain } from "./explanation.ts";

/** What can be asked about. A POST is an update for policies, or either of two where the endpoint creates and updates. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["read", "read"],
  ["list", "list"],
  ["scan", "scan"],
  ["create", "update"],
  ["update", "update"],
  ["patch", "patch"],
  ["delete", "delete"],
]);

/** Longest text of an IP address. */
const MAX_ADDRESS_LENGTH = 64;

const ASKED = {
  path: text().describe("The path of the request, without `/v1/`"),
  operation: text().describe("`read`, `list`, `scan`, `create`, `update`, `patch` or `delete`; `read` unless sent"),
  parameters: anyObject().describe("The fields of its body or query"),
  wrap_ttl: duration().describe("The time for which its answer is asked for wrapped (`X-Vault-Wrap-TTL`)"),
  namespace: text().describe("Its namespace (`X-Vault-Namespace`)"),
};
const SELF_FIELDS = fieldSchema(ASKED);
const FIELDS = fieldSchema({
  token: unread("string").describe("The token that makes the request"),
  accessor: text().describe("Its accessor, in the place of the token"),
  ...ASKED,
  client_address: sent(text()).describe("The address that the request comes from; that of this request unless sent"),
});
type Asked = Values<typeof SELF_FIELDS> & { readonly client_address?: string | undefined };

const ANSWERS = dataAnswer(EXPLANATION);

/**
 * `sys/explain/access` and `access-self`: whether a request would be allowed, and why.
 *
 * @param tables asked when a request comes: they hold these routes too.
 */
export function explainRoutes(tables: () => Tables): readonly Route[] {
  const answer = async (context: CallContext<Asked, unknown>, asked: AskedRequest, subject: Subject) =>
    ok(dataReply(await explain(context, tables(), subject, asked)));
  return [
    tokenRoute("update", "sys/explain/access", {
      summary: "Explains why a request of a token is allowed or refused, without making it.",
      operationId: "explain-access",
      answers: ANSWERS,
      input: FIELDS,
      prepare: async ({ fields, request }) => readAsked(fields, request.clientAddress),
      async handle(context): Promise<Result<Reply>> {
        const { token = "", accessor } = context.fields;
        if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return err(invalid("invalid token"));
        if ((token === "") === (accessor === "")) return err(invalid("supply either token or accessor"));
        const subject = token === "" ? subjectOfAccessor(context, accessor) : subjectOfToken(context, token);
        return answer(context, context.prepared, await subject);
      },
    }),
    // Every token that may ask what it may do may ask why, also where the policies were written before this endpoint was made.
    ...withAlternatePath(
      async () => "sys/capabilities-self",
      [
        tokenRoute("update", "sys/explain/access-self", {
          summary: "Explains why a request of the caller's token is allowed or refused, without making it.",
          operationId: "explain-own-access",
          answers: ANSWERS,
          input: SELF_FIELDS,
          prepare: async ({ fields, request }) => readAsked(fields, request.clientAddress),
          handle: (context) => answer(context, context.prepared, { caller: context.caller }),
        }),
      ],
    ),
  ];
}

/** Reads the request that is asked about, as a real one is read. */
function readAsked(fields: Asked, ownAddress: string | null): Result<AskedRequest> {
  const operation = OPERATIONS.get(fields.operation === "" ? "read" : fields.operation);
  if (!operation) return err(invalid("operation must be read, list, scan, create, update, patch or delete"));
  const path = fields.path.trim().replace(/^\/*(?:v1\/+)?/, "");
  if (path === "") return err(invalid("path must be supplied"));
  const problem = pathProblem(path);
  if (problem) return err(invalid(problem));
  const writes = operation === "update" || operation === "patch";
  if (writes && path.endsWith("/")) return err(invalid("cannot write to a path ending in '/'"));
  if (fields.wrap_ttl < 0) return err(invalid("wrap_ttl cannot be negative"));
  const address = fields.client_address ?? ownAddress;
  if (address !== null && address.length > MAX_ADDRESS_LENGTH) return err(invalid("client_address is no address"));
  return ok({
    operation,
    path: isListing(operation) ? path.replace(/\/+$/, "") : path,
    data: fields.parameters ?? {},
    wrapTtlSeconds: fields.wrap_ttl,
    clientAddress: address,
    namespace: readNamespace(fields.namespace) ? fields.namespace : "",
  });
}
