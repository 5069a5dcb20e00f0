import * as z from "zod";
import { type CallContext, type Route, simpleRoute, withCanonicalPath } from "../../auth/route.ts";
import {
  DONE_OR_WARNED,
  dataAnswer,
  ENVELOPE,
  injectedAnswer,
  KEYS,
  NO_CONTENT,
} from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import {
  isHiddenPolicy,
  policyDeleteRefusal,
  policyWriteRefusal,
  RESPONSE_WRAPPING_POLICY,
  RESPONSE_WRAPPING_POLICY_TEXT,
} from "../../policy/builtin.ts";
import { normalizePolicyName, policyNameProblem, ROOT_POLICY } from "../../policy/name.ts";
import type { StoredPolicy } from "../../system/policy-store.ts";
import { systemOf } from "../../system/system.ts";
import { PAGE, type Page, pageOf } from "../../wire/page.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { changedReply } from "../changed-reply.ts";
import { OLD_WRITE_FIELDS, PATCH_FIELDS, readPatch, readWrite, WRITE_FIELDS } from "./policy-fields.ts";

const NO_FIELDS = z.object({});
const NAMES = z.object(PAGE);
/** Policies with their texts that one call to the object brings. */
const DETAILED_CHUNK = 64;

/** The policies that no operator has written, by name. */
const FIXED: ReadonlyMap<string, StoredPolicy> = new Map(
  [
    { name: ROOT_POLICY, text: "" },
    { name: RESPONSE_WRAPPING_POLICY, text: RESPONSE_WRAPPING_POLICY_TEXT },
  ].map((policy) => {
    const settings = { expiresAt: null, casRequired: false, allowSlashes: false, allowWildcards: false };
    return [policy.name, { ...policy, ...settings, version: 0, modifiedAt: 0 }];
  }),
);

const POLICY = { name: "The name of the policy" };
const BELOW = { prefix: "What comes before the last slash of the names" };
const POLICY_SHAPE = {
  name: "string",
  version: "integer",
  cas_required: "boolean",
  allow_slashes_in_identity_templates: "boolean",
  allow_wildcards_in_identity_templates: "boolean",
  modified: "string",
  "expiration?": "string",
} as const satisfies Shape;
const DETAILED = dataAnswer({ keys: ["string"], key_info: { "*": { ...POLICY_SHAPE, policy: "string" } } });

/** Policies, at the places where clients look for them. */
export const POLICY_ROUTES: readonly Route[] = withCanonicalPath(spellPolicyPath, [
  simpleRoute(
    ["read", "list"],
    "sys/policy",
    {
      summary: "Lists the policies.",
      operationId: { read: "policies-list", list: "policies-list-with-list" },
      answers: injectedAnswer({ keys: ["string"], policies: ["string"] }),
    },
    NAMES,
    async ({ env, fields }) => {
      const keys = await listNames(env, "", fields);
      return ok({ kind: "data", data: { keys, policies: keys }, inject: true });
    },
  ),
  simpleRoute(
    "list",
    "sys/policy/:prefix{.+}",
    {
      summary: "Lists the policies below a name with slashes.",
      operationId: "policies-list-below2",
      parameters: BELOW,
      answers: KEYS,
    },
    NAMES,
    listBelow,
  ),
  simpleRoute(
    "read",
    "sys/policy/:name{.+}",
    {
      summary: "Shows a policy.",
      operationId: "policies-read-acl-policy2",
      parameters: POLICY,
      answers: injectedAnswer({ ...POLICY_SHAPE, rules: "string" }),
    },
    NO_FIELDS,
    (context) => read(context, "rules"),
  ),
  simpleRoute(
    "update",
    "sys/policy/:name{.+}",
    {
      summary: "Makes or replaces a policy.",
      operationId: "policies-write-acl-policy2",
      parameters: POLICY,
      answers: DONE_OR_WARNED,
    },
    OLD_WRITE_FIELDS,
    async (context) => {
      const { policy, rules } = context.fields;
      const written = await write(context, policy || rules);
      if (!written.ok || rules === "") return written;
      return ok(withWarning(written.value, "'rules' is deprecated, please use 'policy' instead"));
    },
  ),
  simpleRoute(
    "delete",
    "sys/policy/:name{.+}",
    {
      summary: "Deletes a policy.",
      operationId: "policies-delete-acl-policy2",
      parameters: POLICY,
      answers: NO_CONTENT,
    },
    NO_FIELDS,
    remove,
  ),

  simpleRoute(
    "list",
    "sys/policies/acl",
    { summary: "Lists the policies.", operationId: "policies-list-acl-policies", answers: KEYS },
    NAMES,
    async ({ env, fields }) => ok({ kind: "data", data: { keys: await listNames(env, "", fields) } }),
  ),
  simpleRoute(
    "list",
    "sys/policies/acl/:prefix{.+}",
    {
      summary: "Lists the policies below a name with slashes.",
      operationId: "policies-list-below",
      parameters: BELOW,
      answers: KEYS,
    },
    NAMES,
    listBelow,
  ),
  simpleRoute(
    "read",
    "sys/policies/acl/:name{.+}",
    {
      summary: "Shows a policy.",
      operationId: "policies-read-acl-policy",
      parameters: POLICY,
      answers: dataAnswer({ ...POLICY_SHAPE, policy: "string" }),
    },
    NO_FIELDS,
    (context) => read(context, "policy"),
  ),
  simpleRoute(
    "update",
    "sys/policies/acl/:name{.+}",
    {
      summary: "Makes or replaces a policy.",
      operationId: "policies-write-acl-policy",
      parameters: POLICY,
      answers: DONE_OR_WARNED,
    },
    WRITE_FIELDS,
    (context) => write(context, context.fields.policy),
  ),
  simpleRoute(
    "patch",
    "sys/policies/acl/:name{.+}",
    {
      summary: "Changes what a policy names; the rest stays.",
      operationId: "policies-patch-acl-policy",
      parameters: POLICY,
      answers: ENVELOPE,
    },
    PATCH_FIELDS,
    patch,
  ),
  simpleRoute(
    "delete",
    "sys/policies/acl/:name{.+}",
    {
      summary: "Deletes a policy.",
      operationId: "policies-delete-acl-policy",
      parameters: POLICY,
      answers: NO_CONTENT,
    },
    NO_FIELDS,
    remove,
  ),

  simpleRoute(
    "list",
    "sys/policies/detailed/acl",
    {
      summary: "Lists the policies with what they say.",
      operationId: "system-list-policies-detailed-acl",
      answers: DETAILED,
    },
    NAMES,
    listDetailed,
  ),
  simpleRoute(
    "list",
    "sys/policies/detailed/acl/:name{.+}",
    {
      summary: "Lists the policies below a name with slashes, with what they say.",
      operationId: "system-list-policies-detailed-acl-name",
      parameters: { name: BELOW.prefix },
      answers: DETAILED,
    },
    NAMES,
    listDetailed,
  ),
]);

/** The path with the name of the policy as it is stored. */
function spellPolicyPath(path: string): string {
  return path.replace(/(?<=^sys\/(?:policy|policies\/acl|policies\/detailed\/acl)\/).*$/s, normalizePolicyName);
}

type NamedCall = Pick<CallContext<unknown, unknown>, "env" | "params">;
type ListCall = Pick<CallContext<Page, unknown>, "env" | "params" | "fields">;

/** A page of the names that begin with `prefix`, sorted. Where all are listed `root` stands at the end, whatever the others are. */
async function listNames(env: Env, prefix: string, page: Page): Promise<string[]> {
  const all = prefix === "";
  if (all && page.after === ROOT_POLICY) return [];
  const stored = await systemOf(env).listPolicies(currentTime());
  const names = pageOf(
    stored.filter((name) => !isHiddenPolicy(name) && name.startsWith(prefix)),
    page,
  );
  const isLast = page.limit <= 0 || names.length < page.limit;
  return all && isLast ? [...names, ROOT_POLICY] : names;
}

async function listBelow({ env, params, fields }: ListCall): Promise<Result<Reply, Failure>> {
  const keys = await listNames(env, `${normalizePolicyName(params.prefix ?? "")}/`, fields);
  return ok({ kind: "data", data: { keys } });
}

async function listDetailed({ env, params, fields }: ListCall): Promise<Result<Reply, Failure>> {
  const prefix = params.name === undefined ? "" : `${normalizePolicyName(params.name)}/`;
  const keys = await listNames(env, prefix, fields);
  const now = currentTime();
  const info: [string, Record<string, unknown>][] = [];
  for (let from = 0; from < keys.length; from += DETAILED_CHUNK) {
    const chunk = keys.slice(from, from + DETAILED_CHUNK);
    const fixed = chunk.flatMap((name) => FIXED.get(name) ?? []);
    const stored = await systemOf(env).readPolicies(chunk, now);
    for (const policy of [...stored, ...fixed]) info.push([policy.name, show(policy, "policy")]);
  }
  return ok({ kind: "data", data: { keys, key_info: Object.fromEntries(info) } });
}

async function read({ env, params }: NamedCall, textKey: "rules" | "policy"): Promise<Result<Reply, Failure>> {
  const name = normalizePolicyName(params.name ?? "");
  const policy = FIXED.get(name) ?? (await systemOf(env).readPolicy(name, currentTime()));
  if (!policy) return err({ code: "not_found" });
  return ok({ kind: "data", inject: textKey === "rules", data: show(policy, textKey) });
}

function show(policy: StoredPolicy, textKey: "rules" | "policy"): Record<string, unknown> {
  return {
    name: policy.name,
    [textKey]: policy.text,
    version: policy.version,
    cas_required: policy.casRequired,
    allow_slashes_in_identity_templates: policy.allowSlashes,
    allow_wildcards_in_identity_templates: policy.allowWildcards,
    modified: new Date(policy.modifiedAt).toISOString(),
    ...(policy.expiresAt !== null && { expiration: new Date(policy.expiresAt).toISOString() }),
  };
}

async function write(
  { env, params, fields }: Pick<CallContext<z.infer<typeof WRITE_FIELDS>, unknown>, "env" | "params" | "fields">,
  policyText: string,
): Promise<Result<Reply, Failure>> {
  const name = writableName(params);
  if (!name.ok) return name;
  const now = currentTime();
  const policy = readWrite(fields, policyText, now);
  if (!policy.ok) return policy;
  const written = await systemOf(env).writePolicy(name.value, policy.value, now);
  if (!written.ok) return written;
  return changedReply(env, withNameWarning(EMPTY, params, name.value));
}

async function patch({
  env,
  params,
  fields,
}: Pick<CallContext<z.infer<typeof PATCH_FIELDS>, unknown>, "env" | "params" | "fields">): Promise<
  Result<Reply, Failure>
> {
  const name = writableName(params);
  if (!name.ok) return name;
  const now = currentTime();
  const change = readPatch(fields, now);
  if (!change.ok) return change;
  const patched = await systemOf(env).patchPolicy(name.value, change.value, now);
  if (!patched.ok) return patched;
  return changedReply(env, withNameWarning({ kind: "data", data: null }, params, name.value));
}

async function remove({ env, params }: NamedCall): Promise<Result<Reply, Failure>> {
  const name = normalizePolicyName(params.name ?? "");
  const refusal = policyDeleteRefusal(name);
  if (refusal) return err(invalid(refusal));
  await systemOf(env).deletePolicy(name);
  return changedReply(env);
}

function writableName(params: NamedCall["params"]): Result<string, Failure> {
  const name = normalizePolicyName(params.name ?? "");
  const problem = policyNameProblem(name) ?? policyWriteRefusal(name);
  return problem ? err(invalid(problem)) : ok(name);
}

type WrittenReply = Extract<Reply, { kind: "empty" | "data" }>;

function withNameWarning(reply: WrittenReply, params: NamedCall["params"], name: string): WrittenReply {
  return name === params.name ? reply : withWarning(reply, `policy name was converted to ${name}`);
}

/** The first warning is the last one added. */
function withWarning<R extends Reply>(reply: R, warning: string): R {
  const others = "warnings" in reply ? (reply.warnings ?? []) : [];
  return { ...reply, warnings: [warning, ...others] };
}
