import { type Answered, type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, ENVELOPE, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { policyDeleteRefusal, policyWriteRefusal } from "../../../policy/builtin.ts";
import { normalizePolicyName, policyNameProblem } from "../../../policy/name.ts";
import { parsePolicy, policyErrorText } from "../../../policy/parse.ts";
import { policyExpiry } from "../../../policy/write.ts";
import type { PolicyPatch, PolicyText, PolicyWrite } from "../../../system/policy-store.ts";
import { systemOf } from "../../../system/system.ts";
import { deprecated, fieldSchema, flag, integer, sent, text, textAs, type Values } from "../../../wire/fields.ts";
import { EMPTY, type Reply } from "../../../wire/reply.ts";
import { changedReply } from "../../changed-reply.ts";

/** Fields of a write that replaces the whole policy. */
const WRITE_FIELDS = fieldSchema({
  policy: text().describe("The rules, in HCL or JSON"),
  expiration: text().describe("When the policy ends, as RFC 3339"),
  ttl: textAs({ shape: "integer", format: "seconds" }).describe("How long the policy lasts"),
  cas: sent(integer()).describe("Only if the policy has this version; -1 only if there is none"),
  cas_required: flag(false).describe("True: every write has to name the version that it changes"),
  allow_slashes_in_identity_templates: flag(false).describe("True: values of templates may hold slashes"),
  allow_wildcards_in_identity_templates: flag(false).describe("True: values of templates may hold `*` and `+`"),
});

/** The same at the older path, with the older name of the text. */
const OLD_WRITE_FIELDS = fieldSchema({
  ...WRITE_FIELDS.shape,
  rules: deprecated(text()).describe("Older name of `policy`"),
});

/** Fields of a write that changes what it names. */
const PATCH_FIELDS = fieldSchema({
  ...WRITE_FIELDS.shape,
  cas_required: sent(WRITE_FIELDS.shape.cas_required),
  allow_slashes_in_identity_templates: sent(WRITE_FIELDS.shape.allow_slashes_in_identity_templates),
  allow_wildcards_in_identity_templates: sent(WRITE_FIELDS.shape.allow_wildcards_in_identity_templates),
});

/** Fields of a deletion. */
const DELETE_FIELDS = fieldSchema({
  cas: sent(integer()).describe("Only if the policy has this version"),
});

/**
 * Reads a write. `policyText` is the text under whichever name it came; `now` in ms.
 * Messages are the reference's (sys/policies/acl).
 */
function readWrite(fields: Values<typeof WRITE_FIELDS>, policyText: string, now: number): Result<PolicyWrite> {
  if (policyText === "") return refuse("'policy' parameter not supplied or empty");
  const content = readText(policyText, now);
  if (!content.ok) return content;
  const expiresAt = policyExpiry(fields.expiration, fields.ttl, now);
  if (!expiresAt.ok) return refuse(expiresAt.error);
  return ok({
    content: content.value,
    expiresAt: expiresAt.value,
    cas: fields.cas ?? null,
    casRequired: fields.cas_required,
    allowSlashes: fields.allow_slashes_in_identity_templates,
    allowWildcards: fields.allow_wildcards_in_identity_templates,
  });
}

/** Reads a patch. A ttl of 0 takes an expiration away. `now` in ms. */
function readPatch(fields: Values<typeof PATCH_FIELDS>, now: number): Result<PolicyPatch> {
  const content = fields.policy === "" ? ok(undefined) : readText(fields.policy, now);
  if (!content.ok) return content;
  const expiresAt = policyExpiry(fields.expiration, fields.ttl, now);
  if (!expiresAt.ok) return refuse(expiresAt.error);
  return ok({
    content: content.value,
    expiresAt: fields.expiration === "" && fields.ttl === "" ? undefined : expiresAt.value,
    cas: fields.cas ?? null,
    casRequired: fields.cas_required,
    allowSlashes: fields.allow_slashes_in_identity_templates,
    allowWildcards: fields.allow_wildcards_in_identity_templates,
  });
}

/** Bytes of a policy's text and rules together: what fits into a row of an object's database, with room for the rest. */
const MAX_POLICY_BYTES = 1_900_000;

function readText(policyText: string, now: number): Result<PolicyText> {
  const parsed = parsePolicy(policyText, now);
  if (!parsed.ok) return refuse(policyErrorText(parsed.error));
  const rulesJson = JSON.stringify(parsed.value);
  // Rules can be ten times as long as the text that they were read from.
  const bytes = new TextEncoder().encode(policyText + rulesJson).length;
  if (bytes > MAX_POLICY_BYTES) return refuse("the policy has too many rules; divide it into several");
  return ok({ text: policyText, rulesJson });
}

/** Makes or replaces a policy. `policyText` is its text under whichever name it came. */
async function writePolicy(
  { env, params, fields }: CallContext<Values<typeof WRITE_FIELDS>>,
  policyText: string,
): Answered {
  const name = writableName(params);
  if (!name.ok) return name;
  const now = currentTime();
  const policy = readWrite(fields, policyText, now);
  if (!policy.ok) return policy;
  const written = await systemOf(env).writePolicy(name.value, policy.value, now);
  return changedReply(env, written, withNameWarning(EMPTY, params, name.value));
}

/** Changes what is sent; the rest stays. */
async function patchPolicy({ env, params, fields }: CallContext<Values<typeof PATCH_FIELDS>>): Answered {
  const name = writableName(params);
  if (!name.ok) return name;
  const now = currentTime();
  const change = readPatch(fields, now);
  if (!change.ok) return change;
  const patched = await systemOf(env).patchPolicy(name.value, change.value, now);
  return changedReply(env, patched, withNameWarning({ kind: "data", data: null }, params, name.value));
}

/** Deletes a policy; one that does not exist is no error. */
async function deletePolicy({ env, params, fields }: CallContext<Values<typeof DELETE_FIELDS>>): Answered {
  const name = normalizePolicyName(params.name ?? "");
  const refusal = policyDeleteRefusal(name);
  if (refusal) return refuse(refusal);
  return changedReply(env, await systemOf(env).deletePolicy(name, fields.cas ?? null, currentTime()));
}

function writableName(params: CallContext["params"]): Result<string> {
  const name = normalizePolicyName(params.name ?? "");
  const problem = policyNameProblem(name) ?? policyWriteRefusal(name);
  return problem ? refuse(problem) : ok(name);
}

type WrittenReply = Extract<Reply, { kind: "empty" | "data" }>;

function withNameWarning(reply: WrittenReply, params: CallContext["params"], name: string): WrittenReply {
  return name === params.name ? reply : withWarning(reply, `policy name was converted to ${name}`);
}

/** The reply with one more warning, which stands first. */
function withWarning<R extends Reply>(reply: R, warning: string): R {
  const others = "warnings" in reply ? (reply.warnings ?? []) : [];
  return { ...reply, warnings: [warning, ...others] };
}

/** Writing policies, at the places where clients do so. */
export const POLICY_WRITE_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/policy/:name{.+}", {
    summary: "Makes or replaces a policy.",
    operationId: "policies-write-acl-policy2",
    answers: DONE_OR_WARNED,
    input: OLD_WRITE_FIELDS,
    handle: async (context) => {
      const { policy, rules } = context.fields;
      const written = await writePolicy(context, policy || rules);
      if (!written.ok || rules === "") return written;
      return ok(withWarning(written.value, "'rules' is deprecated, please use 'policy' instead"));
    },
  }),
  deleteRoute("sys/policy", "policies-delete-acl-policy2"),
  simpleRoute("update", "sys/policies/acl/:name{.+}", {
    summary: "Makes or replaces a policy.",
    operationId: "policies-write-acl-policy",
    answers: DONE_OR_WARNED,
    input: WRITE_FIELDS,
    handle: (context) => writePolicy(context, context.fields.policy),
  }),
  simpleRoute("patch", "sys/policies/acl/:name{.+}", {
    summary: "Changes what a policy names; the rest stays.",
    operationId: "policies-patch-acl-policy",
    answers: ENVELOPE,
    input: PATCH_FIELDS,
    handle: patchPolicy,
  }),
  deleteRoute("sys/policies/acl", "policies-delete-acl-policy"),
];

function deleteRoute(path: string, operationId: string): Route {
  return simpleRoute("delete", `${path}/:name{.+}`, {
    summary: "Deletes a policy.",
    operationId,
    answers: NO_CONTENT,
    input: DELETE_FIELDS,
    handle: deletePolicy,
  });
}
