import { type Caller, verdictForCaller } from "../auth/caller.ts";
import { holderOf, type LookUp, lookUpOf, type NamedToken, onAccessor, onToken } from "../auth/named-token.ts";
import { type Answered, type CallContext, type Route, tokenRoute } from "../auth/route.ts";
import { dataAnswer } from "../auth/route-description.ts";
import { currentTime, type Ms } from "../base/clock.ts";
import { MAX_ADDRESS_LENGTH, MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { aclOf, allPolicies, entityProblem, loadActiveEntity } from "../identity/entity-copies.ts";
import { decisiveStep, type Step } from "../policy/acl.ts";
import { RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { type Grant, listCapabilities, writtenRules } from "../policy/merged-rules.ts";
import { isListing, type Operation } from "../policy/operation.ts";
import { linesOfRules } from "../policy/parse.ts";
import { patternText } from "../policy/pattern.ts";
import {
  normalizePolicyName,
  policyDeleteRefusal,
  policyWriteRefusal,
  RESPONSE_WRAPPING_POLICY,
} from "../policy/policy-names.ts";
import { suggestPolicy } from "../policy/suggest.ts";
import { systemOf } from "../system/system.ts";
import { isEnded } from "../system/watermarks.ts";
import type { TokenEnd } from "../token/end-record.ts";
import { treeAt } from "../token/tree-stub.ts";
import { auditPath } from "../wire/audit-masking.ts";
import { fieldSchema, type Values } from "../wire/field-schema.ts";
import { anyObject, duration, pasted, sent, text, unread } from "../wire/fields.ts";
import { dataReply, type Reply } from "../wire/reply.ts";
import { type GroveRequest, pathProblem, readNamespace } from "../wire/request.ts";
import { ALSO_UNSERVED, ofEntity, plainReason, type Reason, reasonOf, unserved } from "./explain-reasons.ts";
import { accessOf, type FoundRoute, findRoute, findTable, type RouteTables } from "./route-tables.ts";

interface AskedRequest extends Pick<GroveRequest, "operation" | "path" | "data" | "wrapTtlSeconds"> {
  readonly clientAddress: string | null;
  /** True when its namespace does not exist. */
  readonly otherNamespace: boolean;
}

const ANSWERS = dataAnswer({
  allowed: "boolean",
  reason: "string",
  message: "string",
  operation: "string",
  path: "string",
  endpoint: "string | null",
  policies: ["string"],
  missing_policies: ["string"],
  "rule?": {
    path: "string",
    capabilities: ["string"],
    policies: [{ name: "string", path: "string", lines: ["integer"] }],
  },
  missing_capabilities: ["string"],
  parameter: "string | null",
  hcl: "string | null",
});

type Explanation = Readonly<Record<string, unknown>>;

/** Where a policy is written and deleted. */
const POLICY_PATTERN = /^sys\/(?:policy|policies\/acl)\/:name\b/;

/** Maximum number of policies whose texts are read for the lines of a rule. */
const MAX_TEXTS = 16;

/**
 * Explains what would happen to a request with a token, by the functions that decide real requests. Changes nothing.
 */
async function explain(context: CallContext<unknown, AskedRequest>, tables: RouteTables, subject: Subject): Answered {
  const { env, installation, prepared: asked } = context;
  const found = findRoute(findTable(tables, installation, asked), asked);
  const route = found.ok ? found.value.route : null;
  const pattern = found.ok ? found.value.pattern : null;
  const access = await accessOf(context, asked, found.ok ? found.value : null);
  // A path that can contain a token is shown by its pattern.
  const isSecret = route?.access === "token" && route.secretPath && pattern?.includes(":");
  const path = isSecret ? pattern : auditPath(access.path);
  const about = { operation: asked.operation, path, endpoint: pattern };
  if (asked.otherNamespace) return reply(false, plainReason("namespace"), about);
  const isOpen = route !== null && (route.access !== "token" || (route.openHandler?.(env) ?? null) !== null);
  if (isOpen) return reply(true, plainReason("no_token_needed"), about);
  if ("end" in subject) return reply(false, plainReason(`token_${subject.end}`), about);

  const { caller } = subject;
  const { record } = caller;
  const entity = await loadActiveEntity(env, record.entityId);
  const now = currentTime();
  const steps: Step[] = [];
  const call = { access, clientAddress: asked.clientAddress };
  const decided = verdictForCaller(caller, call, { installation, entity, now }, (step) => steps.push(step));
  const step = decisiveStep(steps, decided.ok && decided.value !== null);
  const view = entity.ok ? entity.value : null;
  const policies = allPolicies(record.policies, view);
  const known = { ...about, policies, missing_policies: installation.policies.absent(policies, now) };
  if (!decided.ok) {
    const problem = entity.ok ? null : await entityProblem(env, record.entityId);
    return reply(false, problem ? ofEntity(problem) : plainReason(entity.ok ? "address" : "entity"), known);
  }
  const refusal = step?.refusal ?? null;
  const missing = refusal && "missing" in refusal ? refusal.missing : refusal?.kind === "sudo" ? ["sudo"] : [];
  const details = {
    ...(step?.grant && { rule: await ruleOf(env, step.grant, now) }),
    missing_capabilities: missing,
    parameter: refusal?.kind === "parameter" ? refusal.name : null,
  };
  if (decided.value) {
    const reason = found.ok ? reasonOf(step, decided.value, access, caller) : unserved(found.error);
    return reply(found.ok, reason, { ...known, ...details });
  }
  const also = found.ok ? fixedPolicyRefusal(found.value, asked.operation) : ALSO_UNSERVED;
  // A suggested policy would repeat a path with a token in it.
  const acl = aclOf(installation, record.policies, view, now);
  const hcl = path === access.path && !(found.ok && also) ? suggestPolicy(acl, access, now) : null;
  const { reason, message } = reasonOf(step, null, access, caller);
  const refused = { reason, message: also ? `${message} ${also}` : message };
  return reply(false, refused, { ...known, ...details, hcl });
}

/** A sentence for a change of a policy that every token is refused; null for any other request. */
function fixedPolicyRefusal({ pattern, params }: FoundRoute, operation: Operation): string | null {
  if (!POLICY_PATTERN.test(pattern) || operation === "read" || isListing(operation)) return null;
  const name = normalizePolicyName(params.name ?? "");
  const refusal = operation === "delete" ? policyDeleteRefusal(name) : policyWriteRefusal(name);
  return refusal && `No token is allowed this: ${refusal}.`;
}

function reply(allowed: boolean, reason: Reason, known: Explanation): Result<Reply> {
  const none = { policies: [], missing_policies: [], missing_capabilities: [], parameter: null, hcl: null };
  return dataReply({ allowed, ...reason, ...none, ...known });
}

async function ruleOf(env: Env, grant: Grant, now: Ms): Promise<Explanation> {
  const chosen = writtenRules(grant).slice(0, MAX_TEXTS);
  const stored = await systemOf(env).readPolicies([...new Set(chosen.map(({ policy }) => policy))], now);
  const lines = new Map(stored.map(({ name, text }) => [name, linesOfRules(text)]));
  lines.set(RESPONSE_WRAPPING_POLICY, linesOfRules(RESPONSE_WRAPPING_POLICY_TEXT));
  return {
    path: patternText(grant.pattern),
    capabilities: listCapabilities(grant),
    policies: chosen.map(({ policy, writtenPath }) => ({
      name: policy,
      path: writtenPath,
      lines: lines.get(policy)?.get(writtenPath) ?? [],
    })),
  };
}

/** Operations that can be explained. A POST is an update; policies see `create_or_update` if the endpoint does both. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["", "read"],
  ["read", "read"],
  ["list", "list"],
  ["scan", "scan"],
  ["create", "update"],
  ["update", "update"],
  ["patch", "patch"],
  ["delete", "delete"],
]);

const SELF_FIELDS = fieldSchema({
  path: text().describe("The path of the request, without `/v1/`"),
  operation: text().describe("`read`, `list`, `scan`, `create`, `update`, `patch` or `delete`; `read` unless sent"),
  parameters: anyObject().describe("The fields of its body or query"),
  wrap_ttl: duration().describe("Its `X-Vault-Wrap-TTL`"),
  namespace: text().describe("Its namespace (`X-Vault-Namespace`)"),
});
const FIELDS = fieldSchema({
  token: unread("string").describe("The token that makes the request"),
  accessor: pasted().describe("Its accessor, in the place of the token"),
  ...SELF_FIELDS.shape,
  client_address: sent(text()).describe("The client's address; that of this request unless sent"),
});
type Asked = Values<typeof SELF_FIELDS> & { readonly client_address?: string | undefined };

/** The routes `sys/explain/access` and `access-self`. `tables` is a function, because they include these routes. */
export function explainRoutes(tables: () => RouteTables): readonly Route[] {
  return [
    tokenRoute("update", "sys/explain/access", {
      summary: "Explains why a request is allowed or refused.",
      operationId: "explain-access",
      answers: ANSWERS,
      input: FIELDS,
      prepare: async ({ fields, request }) => {
        const { token = "", accessor } = fields;
        if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return refuse("invalid token");
        if ((token === "") === (accessor === "")) return refuse("supply either token or accessor");
        return readAsked(fields, request.clientAddress);
      },
      async handle(context) {
        const { token = "", accessor } = context.fields;
        const named = await (token === ""
          ? onAccessor(context, accessor, lookUpOf)
          : onToken(context, token, lookUpOf));
        return named.ok ? explain(context, tables(), await subjectOf(context, named.value)) : named;
      },
    }),
    // A token that may read its capabilities may also read the reasons, without a change of older policies.
    tokenRoute("update", "sys/explain/access-self", {
      summary: "Explains why a request of the caller is allowed or refused.",
      operationId: "explain-own-access",
      answers: ANSWERS,
      input: SELF_FIELDS,
      otherPaths: async () => ({ alternatePath: "sys/capabilities-self" }),
      prepare: async ({ fields, request }) => readAsked(fields, request.clientAddress),
      handle: (context) => explain(context, tables(), { caller: context.caller }),
    }),
  ];
}

/** The caller of a valid token, or why the token is not valid. "unknown": this installation did not issue it. */
type Subject = { readonly caller: Caller } | { readonly end: TokenEnd | "unknown" };

/** Returns the caller of the token that a request names, or why the token is not valid. Counts no use. */
async function subjectOf(context: CallContext, named: NamedToken<LookUp>): Promise<Subject> {
  if (!named) return { end: "unknown" };
  const caller = await holderOf(context, named);
  if (caller) return { caller };
  if (!("unstored" in named)) {
    const { newest } = context.installation.watermarks;
    return { end: (await treeAt(context.env, named.treeId).endOf(named.action.target, newest)) ?? "gone" };
  }
  const { unstored } = named;
  if (unstored.kind !== "batch") return { end: "gone" };
  if (unstored.token.expiresAt <= currentTime()) return { end: "expired" };
  const isEndedTogether = isEnded(context.installation.watermarks, "all", unstored.token.record);
  // A batch token is not stored. If neither its expiry nor a watermark has ended it, its parent has.
  return { end: isEndedTogether ? "ended_together" : "parent_ended" };
}

/** Reads the request that is explained, by the rules for real requests. */
function readAsked(fields: Asked, ownAddress: string | null): Result<AskedRequest> {
  const operation = OPERATIONS.get(fields.operation);
  if (!operation) return refuse("operation must be read, list, scan, create, update, patch or delete");
  const path = fields.path.trim().replace(/^\/*(?:v1\/+)?/, "");
  if (path === "") return refuse("path must be supplied");
  const problem = pathProblem(path);
  if (problem) return refuse(problem);
  const writes = operation === "update" || operation === "patch";
  if (writes && path.endsWith("/")) return refuse("cannot write to a path ending in '/'");
  if (fields.wrap_ttl < 0) return refuse("wrap_ttl cannot be negative");
  const address = fields.client_address ?? ownAddress;
  if (address !== null && address.length > MAX_ADDRESS_LENGTH) return refuse("client_address is no address");
  return ok({
    operation,
    path: isListing(operation) ? path.replace(/\/+$/, "") : path,
    data: fields.parameters ?? {},
    wrapTtlSeconds: fields.wrap_ttl,
    clientAddress: address,
    otherNamespace: readNamespace(fields.namespace) !== null,
  });
}
