import { explainDecision, type Subject, subjectOfAccessor, subjectOfToken } from "../auth/explain.ts";
import { type CallContext, type Route, tokenRoute } from "../auth/route.ts";
import { dataAnswer } from "../auth/route-description.ts";
import { currentTime } from "../base/clock.ts";
import { MAX_ADDRESS_LENGTH, MAX_TOKEN_LENGTH } from "../base/limits.ts";
import { type Failure, ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type AccessRequest, isListing, type Operation, type Step, type Verdict } from "../policy/acl.ts";
import { RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT } from "../policy/builtin.ts";
import { type Grant, listCapabilities } from "../policy/grant.ts";
import { linesOfRule } from "../policy/parse.ts";
import { suggestPolicy } from "../policy/suggest.ts";
import { systemOf } from "../system/system.ts";
import { auditPath } from "../wire/audit.ts";
import { anyObject, duration, fieldSchema, sent, text, unread, type Values } from "../wire/fields.ts";
import { dataReply, type Reply } from "../wire/reply.ts";
import { type GroveRequest, pathProblem, readNamespace } from "../wire/request.ts";
import { accessOf, findRoute, placeOf, type Tables } from "./places.ts";

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

/** Maximum number of policies whose texts are read for the lines of a rule. */
const MAX_TEXTS = 16;

/** Explains what would happen to a request with a token. The same functions decide about real requests. */
async function explain(context: CallContext, tables: Tables, subject: Subject, asked: AskedRequest) {
  const { env, installation } = context;
  const found = findRoute(placeOf(tables, installation, asked), asked);
  const route = found.ok ? found.value.route : null;
  const pattern = found.ok ? found.value.pattern : null;
  const access = await accessOf(context, asked, found.ok ? found.value : null);
  // A path that can contain a token is shown by its pattern.
  const isSecret = route?.access === "token" && route.secretPath && pattern?.includes(":");
  const path = isSecret ? pattern : auditPath(access.path);
  const about = { operation: asked.operation, path, endpoint: pattern };
  if (asked.otherNamespace) return plain(false, plainReason("namespace"), about);
  const isOpen = route !== null && (route.access !== "token" || (route.openHandler?.(env) ?? null) !== null);
  if (isOpen) return plain(true, plainReason("no_token_needed"), about);
  if ("end" in subject) return plain(false, plainReason(`token_${subject.end}`), about);

  const { caller } = subject;
  const explained = await explainDecision(context, caller, access, asked.clientAddress);
  const { decided, step, policies } = explained;
  const now = currentTime();
  const known = {
    ...about,
    policies,
    missing_policies: policies.filter((name) => !installation.policies.has(name, now)),
  };
  if (!decided.ok) return plain(false, plainReason(explained.hasGoodEntity ? "address" : "entity"), known);
  const refusal = step?.refusal ?? null;
  const missing = refusal && "missing" in refusal ? refusal.missing : refusal?.kind === "sudo" ? ["sudo"] : [];
  const details = {
    ...(step?.grant && { rule: await ruleOf(env, step.grant, now) }),
    missing_capabilities: missing,
    parameter: refusal?.kind === "parameter" ? refusal.name : null,
  };
  if (decided.value) {
    const reason = found.ok ? reasonOf(step, decided.value, access) : unserved(found.error);
    return { ...plain(found.ok, reason, known), ...details };
  }
  // A suggested policy would repeat a path with a token in it.
  const hcl = path === access.path ? suggestPolicy(explained.acl, access, now) : null;
  const { reason, message } = reasonOf(step, null, access);
  const refused = { reason, message: found.ok ? message : `${message} ${ALSO_UNSERVED}` };
  return { ...plain(false, refused, known), ...details, hcl };
}

function plain(allowed: boolean, reason: Reason, about: Explanation): Explanation {
  const none = { policies: [], missing_policies: [], missing_capabilities: [], parameter: null, hcl: null };
  return { allowed, ...reason, ...none, ...about };
}

function reasonOf(step: Step | null, verdict: Verdict | null, { operation }: AccessRequest): Reason {
  if (!step) return plainReason(verdict?.isRoot ? "root" : "team");
  const reason = ruleReason(step);
  if (!verdict || operation !== "create_or_update" || verdict.create === verdict.update) return reason;
  const half = verdict.create
    ? "create what is not there, and change nothing"
    : "change what is there, and create nothing";
  return { ...reason, message: `${reason.message} It may ${half}.` };
}

async function ruleOf(env: Env, grant: Grant, now: number): Promise<Explanation> {
  const { pattern, sources } = grant;
  const written = new Map(
    sources.map(({ policy, writtenPath }) => [JSON.stringify([policy, writtenPath]), { policy, writtenPath }]),
  );
  const chosen = [...written.values()].slice(0, MAX_TEXTS);
  const stored = await systemOf(env).readPolicies([...new Set(chosen.map(({ policy }) => policy))], now);
  const texts = new Map(stored.map(({ name, text }) => [name, text]));
  texts.set(RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT);
  return {
    path: `${pattern.text}${pattern.open ? "*" : ""}`,
    capabilities: listCapabilities(grant),
    policies: chosen.map(({ policy, writtenPath }) => ({
      name: policy,
      path: writtenPath,
      lines: linesOfRule(texts.get(policy) ?? "", writtenPath),
    })),
  };
}

/** Operations that can be explained. A POST is an update; policies see `create_or_update` where the endpoint does both. */
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
  wrap_ttl: duration().describe("The time for which its answer is asked for wrapped (`X-Vault-Wrap-TTL`)"),
  namespace: text().describe("Its namespace (`X-Vault-Namespace`)"),
});
const FIELDS = fieldSchema({
  token: unread("string").describe("The token that makes the request"),
  accessor: text().describe("Its accessor, in the place of the token"),
  ...SELF_FIELDS.shape,
  client_address: sent(text()).describe("The address that the request comes from; that of this request unless sent"),
});
type Asked = Values<typeof SELF_FIELDS> & { readonly client_address?: string | undefined };

/** Returns the routes `sys/explain/access` and `access-self`. `tables` is a function, because they include these routes. */
export function explainRoutes(tables: () => Tables): readonly Route[] {
  const answer = async (context: CallContext, asked: AskedRequest, subject: Subject) =>
    dataReply(await explain(context, tables(), subject, asked));
  return [
    tokenRoute("update", "sys/explain/access", {
      summary: "Explains why a request of a token is allowed or refused, without making it.",
      operationId: "explain-access",
      answers: ANSWERS,
      input: FIELDS,
      prepare: async ({ fields, request }) => readAsked(fields, request.clientAddress),
      async handle(context): Promise<Result<Reply>> {
        const { token = "", accessor } = context.fields;
        if (typeof token !== "string" || token.length > MAX_TOKEN_LENGTH) return refuse("invalid token");
        if ((token === "") === (accessor === "")) return refuse("supply either token or accessor");
        const subject = token === "" ? subjectOfAccessor(context, accessor) : subjectOfToken(context, token);
        return answer(context, context.prepared, await subject);
      },
    }),
    // A token that may read its capabilities may also read the reasons, without a change of older policies.
    tokenRoute("update", "sys/explain/access-self", {
      summary: "Explains why a request of the caller's token is allowed or refused, without making it.",
      operationId: "explain-own-access",
      answers: ANSWERS,
      input: SELF_FIELDS,
      alternatePath: async () => "sys/capabilities-self",
      prepare: async ({ fields, request }) => readAsked(fields, request.clientAddress),
      handle: (context) => answer(context, context.prepared, { caller: context.caller }),
    }),
  ];
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

/** The reason for a decision: a code for programs, and a sentence. */
interface Reason {
  readonly reason: string;
  readonly message: string;
}

const MESSAGES = {
  token_unknown: "This installation did not make the token or accessor.",
  token_expired: "The token has expired.",
  token_revoked: "The token was revoked.",
  token_spent: "The token has made its last use.",
  token_ended_together: "The token was revoked together with all others of its mount, role or installation.",
  token_parent_ended: "A token above it has ended, and it with that.",
  token_gone: "Nothing is stored of the token any more: it has expired or was revoked.",
  address: "The token is bound to networks (token_bound_cidrs), and the address of the client is in none of them.",
  entity: "The entity of the token is disabled or was deleted.",
  namespace: "There is no such namespace: the only one is the root.",
  no_token_needed: "The endpoint needs no token: no policy is asked.",
  root: "The root policy allows everything.",
  unsupported_operation: "The policies allow it, but the endpoint does not have this operation.",
  unserved: "The policies allow it, but no endpoint serves this path.",
  team: "The token of a team may look at itself and its team, and that of the owners may manage their organization.",
} as const;

function unserved({ code }: Failure): Reason {
  return { reason: code, message: code === "unsupported_operation" ? MESSAGES[code] : MESSAGES.unserved };
}

function plainReason(reason: keyof typeof MESSAGES): Reason {
  return { reason, message: MESSAGES[reason] };
}

const ALSO_UNSERVED = "No endpoint serves the request, either: see path-help.";

function ruleReason(step: Step): Reason {
  const { refusal } = step;
  const reason = refusal?.kind === "parameter" ? `parameter_${refusal.problem}` : (refusal?.kind ?? "granted");
  return { reason, message: ruleMessage(step) };
}

function ruleMessage(step: Step): string {
  const { refusal } = step;
  const rule = ruleWords(step);
  switch (refusal?.kind) {
    case undefined:
      return `${rule} allows it.`;
    case "no_rule":
      return `No rule of the policies matches the path. Missing: ${refusal.missing.join(" or ")}.`;
    case "capability":
      return `${rule} lacks ${refusal.missing.join(" or ")}.`;
    case "deny":
      return `${rule} denies it.`;
    case "sudo":
      return `The path needs sudo besides, which ${rule} lacks.`;
    case "wrapping":
      return `${rule} allows it only with ${wrappingWords(step)}.`;
    case "page":
      return `${rule} allows pages of ${step.grant?.paginationLimit ?? 0} entries at most.`;
    case "parameter":
      return `${rule} ${parameterWords(refusal)}.`;
  }
}

function ruleWords({ grant }: Step): string {
  const policies = [...new Set(grant?.sources.map(({ policy }) => policy))];
  return `The rule ${grant?.pattern.text ?? ""}${grant?.pattern.open ? "*" : ""} (${policies.join(", ")})`;
}

function wrappingWords({ grant }: Step): string {
  const { minWrappingTtlSeconds: min = null, maxWrappingTtlSeconds: max = null } = grant ?? {};
  const bounds = [...(min === null ? [] : [`at least ${min}s`]), ...(max === null ? [] : [`at most ${max}s`])];
  return `a wrapped answer whose wrap TTL is ${bounds.join(" and ")}`;
}

function parameterWords({ problem, name }: Extract<Step["refusal"], { kind: "parameter" }>): string {
  switch (problem) {
    case "required":
      return `requires the parameter ${JSON.stringify(name)}`;
    case "denied":
      return name === "*" ? "denies every parameter" : `denies the parameter ${JSON.stringify(name)} or its value`;
    case "not_allowed":
      return `does not allow the parameter ${JSON.stringify(name)} or its value`;
  }
}
