import { actorOf } from "../../auth/caller.ts";
import type { PolicyUsageKind } from "../../auth/kinds.ts";
import {
  type Answered,
  type CallContext,
  type PresentedContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
  withPolicyPaths,
} from "../../auth/route.ts";
import {
  DONE_OR_WARNED,
  dataAnswer,
  ENVELOPE,
  injectedAnswer,
  KEYS,
  NO_CONTENT,
} from "../../auth/route-description.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import { type CallAttempt, changedOnce } from "../../base/lost-call-retry.ts";
import { hasMisleadingBlanks, MISLEADING_BLANKS } from "../../base/misleading-characters.ts";
import { NOT_FOUND, ok, okUnless, type Result, refuse } from "../../base/result.ts";
import { RESPONSE_WRAPPING_POLICY_TEXT } from "../../policy/builtin.ts";
import { decodePolicyText, parsePolicy, policyErrorText, policyExpiry } from "../../policy/parse.ts";
import {
  isHiddenPolicy,
  normalizePolicyName,
  policyDeleteRefusal,
  policyNameProblem,
  policyWriteRefusal,
  RESPONSE_WRAPPING_POLICY,
  ROOT_POLICY,
} from "../../policy/policy-names.ts";
import type { PolicyText, PolicyWrite } from "../../system/policies.ts";
import type { StoredPolicy } from "../../system/stored-policy.ts";
import { systemOf } from "../../system/system.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { deprecated, Field, flag, integer, sent, text } from "../../wire/fields.ts";
import { PAGE, type PageFields, pageOf } from "../../wire/pagination.ts";
import { dataReply, injectedReply, warnedReply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/view.ts";
import { changedReply } from "../change-reply.ts";
import { policyUsageRoute } from "./policy-usage.ts";
import { POLICY_VERSION_ROUTES } from "./policy-versions.ts";
import { POLICY_VIEW } from "./policy-view.ts";

/** The policies that exist in every installation and can't be written, by name. */
const FIXED: ReadonlyMap<string, StoredPolicy> = new Map([
  [ROOT_POLICY, fixedPolicy(ROOT_POLICY, "")],
  [RESPONSE_WRAPPING_POLICY, fixedPolicy(RESPONSE_WRAPPING_POLICY, RESPONSE_WRAPPING_POLICY_TEXT)],
]);

function fixedPolicy(name: string, text: string): StoredPolicy {
  const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false };
  return { name, text, ...settings, version: 0, modifiedAt: 0 };
}

/** A page of the names below `above`, or of all names without it: then `root` is the last one, as in the reference. */
async function listNames({ env, fields: page }: CallContext<PageFields>, above?: string): Promise<string[]> {
  const all = above === undefined;
  const prefix = all ? "" : `${normalizePolicyName(above)}/`;
  if (all && page.after === ROOT_POLICY) return [];
  const stored = await systemOf(env).listPolicies(currentTime());
  const shown = stored.filter((name) => !isHiddenPolicy(name) && name.startsWith(prefix));
  const names = pageOf(shown, page);
  const isLast = page.limit <= 0 || names.length < page.limit;
  return all && isLast ? [...names, ROOT_POLICY] : names;
}

const DETAILED_CHUNK = 64;

async function listDetailed(context: CallContext<PageFields>): Answered {
  const keys = await listNames(context, context.params.name);
  const now = currentTime();
  const info: [string, Record<string, unknown>][] = [];
  for (let from = 0; from < keys.length; from += DETAILED_CHUNK) {
    const chunk = keys.slice(from, from + DETAILED_CHUNK);
    const fixed = chunk.flatMap((name) => FIXED.get(name) ?? []);
    const stored = await systemOf(context.env).readPolicies(chunk, now);
    for (const policy of [...stored, ...fixed]) info.push([policy.name, showPolicy(policy, "policy")]);
  }
  return dataReply({ keys, key_info: Object.fromEntries(info) });
}

/** @param textKey name of the text in the answer. The older path uses `rules`. */
function showPolicy(policy: StoredPolicy, textKey: "rules" | "policy"): Record<string, unknown> {
  return { ...POLICY_VIEW.show(policy), [textKey]: policy.text };
}

const WRITE_FIELDS = fieldSchema({
  policy: text().describe("The rules, in HCL or JSON"),
  expiration: text().describe("When the policy expires, as RFC 3339"),
  // Described as a duration, but read as text: `policyExpiry` parses it.
  ttl: new Field({ shape: "integer", format: "seconds" }, text().read).describe("The lifetime of the policy"),
  cas: sent(integer()).describe("The version that the policy must have; -1 or 0: it must not exist"),
  cas_required: flag(false).describe("True: every write must send `cas`"),
  allow_slashes_in_identity_templates: flag(false).describe("True: values of templates may contain slashes"),
  allow_wildcards_in_identity_templates: flag(false).describe("True: values of templates may contain `*` and `+`"),
});

/** The same fields at the older path, with the older name of the text. */
const OLD_WRITE_FIELDS = fieldSchema({
  ...WRITE_FIELDS.shape,
  rules: deprecated(text()).describe("Older name of `policy`"),
});

const PATCH_FIELDS = fieldSchema({
  ...WRITE_FIELDS.shape,
  policy: sent(WRITE_FIELDS.shape.policy),
  cas_required: sent(WRITE_FIELDS.shape.cas_required),
  allow_slashes_in_identity_templates: sent(WRITE_FIELDS.shape.allow_slashes_in_identity_templates),
  allow_wildcards_in_identity_templates: sent(WRITE_FIELDS.shape.allow_wildcards_in_identity_templates),
});

const NO_TEXT = "'policy' parameter not supplied or empty";

/** A write of a policy that was read. */
interface ReadWrite {
  readonly name: string;
  readonly policy: PolicyWrite;
}

/** Reads a write of a policy. Messages are the reference's (sys/policies/acl). */
function readWrite(
  { installation, params, fields }: Omit<PresentedContext<Values<typeof WRITE_FIELDS>>, "presented">,
  policyText: string,
): Result<ReadWrite> {
  const name = writableName(params);
  if (!name.ok) return name;
  if (policyText === "") return refuse(NO_TEXT);
  const now = currentTime();
  const isNew = installation.policies.absent([name.value], now).length > 0;
  if (isNew && hasMisleadingBlanks(name.value)) return refuse(`policy ${MISLEADING_BLANKS}`);
  const content = readText(policyText, now);
  if (!content.ok) return content;
  const expiresAt = policyExpiry(fields.expiration, fields.ttl, now);
  if (!expiresAt.ok) return refuse(expiresAt.error);
  const policy = {
    content: content.value,
    expiresAt: expiresAt.value,
    cas: fields.cas ?? null,
    casRequired: fields.cas_required,
    allowSlashes: fields.allow_slashes_in_identity_templates,
    allowWildcards: fields.allow_wildcards_in_identity_templates,
  };
  return ok({ name: name.value, policy });
}

async function writePolicy(
  { env, caller, params, prepared: { name, policy } }: CallContext<unknown, ReadWrite>,
  warnings: readonly string[] = [],
): Answered {
  const now = currentTime();
  const by = actorOf(caller);
  const write = (attempt?: CallAttempt) => systemOf(env).writePolicy(name, policy, now, by, attempt);
  const written = await changedOnce(env, write);
  return changedReply(env, written, warnedReply([...warnings, ...nameWarnings(params, name)]));
}

/** Maximum size of a policy's text and rules together, in bytes: they must fit into a row of an object's database. */
const MAX_POLICY_BYTES = 1_900_000;

/** Reads a policy text. One that was sent in base64 is kept decoded, so that reads show the rules. */
function readText(policyText: string, now: Ms): Result<PolicyText> {
  const decoded = decodePolicyText(policyText);
  const parsed = parsePolicy(decoded, now);
  if (!parsed.ok) return refuse(policyErrorText(parsed.error));
  const rulesJson = JSON.stringify(parsed.value);
  // The rules can be ten times as long as their text.
  const bytes = new TextEncoder().encode(decoded + rulesJson).length;
  if (bytes > MAX_POLICY_BYTES) return refuse("the policy has too many rules; divide it into several");
  return ok({ text: decoded, rulesJson });
}

function writableName(params: CallContext["params"]): Result<string> {
  const name = normalizePolicyName(params.name ?? "");
  const problem = policyNameProblem(name) ?? policyWriteRefusal(name);
  return okUnless(problem, name);
}

function nameWarnings(params: CallContext["params"], name: string): string[] {
  return name === params.name ? [] : [`policy name was converted to ${name}`];
}

const RULES_DEPRECATED = "'rules' is deprecated, please use 'policy' instead";

const NAMES = fieldSchema(PAGE);
const PREFIX = "The names' part before their last slash";
const DETAILED = dataAnswer({ keys: ["string"], key_info: { "*": { ...POLICY_VIEW.shape, policy: "string" } } });

/** The routes that both paths of policies have. The ids of their operations at the older path end in 2. */
function routesAt(path: "sys/policy" | "sys/policies/acl"): Route[] {
  const isOld = path === "sys/policy";
  const end = isOld ? "2" : "";
  const textKey = isOld ? "rules" : "policy";
  const shape: Shape = { ...POLICY_VIEW.shape, [textKey]: "string" };
  return [
    simpleRoute("read", `${path}/:name{.+}`, {
      summary: "Shows a policy.",
      operationId: `policies-read-acl-policy${end}`,
      answers: isOld ? injectedAnswer(shape) : dataAnswer(shape),
      handle: async ({ env, params }) => {
        const name = normalizePolicyName(params.name ?? "");
        const policy = FIXED.get(name) ?? (await systemOf(env).readPolicy(name, currentTime()));
        return policy ? ok({ kind: "data", inject: isOld, data: showPolicy(policy, textKey) }) : NOT_FOUND;
      },
    }),
    simpleRoute("list", `${path}/:prefix{.+}`, {
      summary: "Lists the policies below a name.",
      operationId: `policies-list-below${end}`,
      parameters: { prefix: PREFIX },
      answers: KEYS,
      input: NAMES,
      handle: async (context) => dataReply({ keys: await listNames(context, context.params.prefix) }),
    }),
    tokenRoute("delete", `${path}/:name{.+}`, {
      summary: "Deletes a policy.",
      operationId: `policies-delete-acl-policy${end}`,
      answers: NO_CONTENT,
      input: fieldSchema({ cas: sent(integer()).describe("Refused unless the policy has this version") }),
      prepare: async ({ params }) => {
        const name = normalizePolicyName(params.name ?? "");
        return okUnless(policyDeleteRefusal(name), name);
      },
      // A policy that does not exist is no error.
      handle: async ({ env, prepared: name, fields: { cas = null } }) => {
        const now = currentTime();
        const remove = (attempt?: CallAttempt) => systemOf(env).deletePolicy(name, cas, now, attempt);
        return changedReply(env, await changedOnce(env, remove));
      },
    }),
  ];
}

/** Policies, at both paths where clients look for them. */
export function policyRoutes(holders: readonly PolicyUsageKind[]): readonly Route[] {
  return withParameters(
    { name: "The name of the policy" },
    // Policies are evaluated for the name as it is stored: otherwise another spelling would avoid a rule.
    withPolicyPaths(
      {
        canonicalPath: (path) =>
          path.replace(
            /(?<=^sys\/(?:policy|policies\/(?:(?:detailed|usage|versions)\/)?acl)\/).*$/s,
            normalizePolicyName,
          ),
      },
      [
        simpleRoute(["read", "list"], "sys/policy", {
          summary: "Lists the policies.",
          operationId: { read: "policies-list", list: "policies-list-with-list" },
          answers: injectedAnswer({ keys: ["string"], policies: ["string"] }),
          input: NAMES,
          handle: async (context) => {
            const keys = await listNames(context);
            return injectedReply({ keys, policies: keys });
          },
        }),
        ...routesAt("sys/policy"),
        simpleRoute("list", "sys/policies/acl", {
          summary: "Lists the policies.",
          operationId: "policies-list-acl-policies",
          answers: KEYS,
          input: NAMES,
          handle: async (context) => dataReply({ keys: await listNames(context) }),
        }),
        ...routesAt("sys/policies/acl"),
        simpleRoute("list", "sys/policies/detailed/acl", {
          summary: "Lists the policies with their texts.",
          operationId: "system-list-policies-detailed-acl",
          answers: DETAILED,
          input: NAMES,
          handle: listDetailed,
        }),
        simpleRoute("list", "sys/policies/detailed/acl/:name{.+}", {
          summary: "Lists the policies below a name, with their texts.",
          operationId: "system-list-policies-detailed-acl-name",
          parameters: { name: PREFIX },
          answers: DETAILED,
          input: NAMES,
          handle: listDetailed,
        }),
        policyUsageRoute(holders),
        ...POLICY_VERSION_ROUTES,
        tokenRoute("update", "sys/policy/:name{.+}", {
          summary: "Creates or replaces a policy.",
          operationId: "policies-write-acl-policy2",
          answers: DONE_OR_WARNED,
          input: OLD_WRITE_FIELDS,
          prepare: async (context) => readWrite(context, context.fields.policy || context.fields.rules),
          handle: (context) => writePolicy(context, context.fields.rules === "" ? [] : [RULES_DEPRECATED]),
        }),
        tokenRoute("update", "sys/policies/acl/:name{.+}", {
          summary: "Creates or replaces a policy.",
          operationId: "policies-write-acl-policy",
          answers: DONE_OR_WARNED,
          input: WRITE_FIELDS,
          prepare: async (context) => readWrite(context, context.fields.policy),
          handle: (context) => writePolicy(context),
        }),
        tokenRoute("patch", "sys/policies/acl/:name{.+}", {
          summary: "Changes the parts of a policy that are sent.",
          operationId: "policies-patch-acl-policy",
          answers: ENVELOPE,
          input: PATCH_FIELDS,
          prepare: async ({ params, fields }) => {
            const name = writableName(params);
            if (!name.ok) return name;
            const now = currentTime();
            if (fields.policy === "") return refuse(NO_TEXT);
            const content = fields.policy === undefined ? ok(undefined) : readText(fields.policy, now);
            if (!content.ok) return content;
            const expiry = policyExpiry(fields.expiration, fields.ttl, now);
            if (!expiry.ok) return refuse(expiry.error);
            // A ttl of 0 removes the expiration.
            const expiresAt = fields.expiration === "" && fields.ttl === "" ? undefined : expiry.value;
            const change = {
              content: content.value,
              expiresAt,
              cas: fields.cas ?? null,
              casRequired: fields.cas_required,
              allowSlashes: fields.allow_slashes_in_identity_templates,
              allowWildcards: fields.allow_wildcards_in_identity_templates,
            };
            return ok({ name: name.value, change });
          },
          handle: async ({ env, caller, params, prepared: { name, change } }) => {
            const now = currentTime();
            const by = actorOf(caller);
            const patch = (attempt?: CallAttempt) => systemOf(env).patchPolicy(name, change, now, by, attempt);
            const patched = await changedOnce(env, patch);
            const warnings = nameWarnings(params, name);
            return changedReply(env, patched, { kind: "data", data: null, warnings });
          },
        }),
      ],
    ),
  );
}
