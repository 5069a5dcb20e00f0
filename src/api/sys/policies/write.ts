import type { CallContext } from "../../../auth/route.ts";
import { currentTime } from "../../../base/clock.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { policyDeleteRefusal, policyWriteRefusal } from "../../../policy/builtin.ts";
import { normalizePolicyName, policyNameProblem } from "../../../policy/name.ts";
import { systemOf } from "../../../system/system.ts";
import type { Values } from "../../../wire/fields.ts";
import { EMPTY, type Reply } from "../../../wire/reply.ts";
import { changedReply } from "../../changed-reply.ts";
import { type DELETE_FIELDS, type PATCH_FIELDS, readPatch, readWrite, type WRITE_FIELDS } from "./fields.ts";

type PolicyCall = Pick<CallContext<unknown, unknown>, "env" | "params">;

/** Makes or replaces a policy. `policyText` is its text under whichever name it came. */
export async function writePolicy(
  { env, params, fields }: Pick<CallContext<Values<typeof WRITE_FIELDS>, unknown>, "env" | "params" | "fields">,
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

/** Changes what is sent; the rest stays. */
export async function patchPolicy({
  env,
  params,
  fields,
}: Pick<CallContext<Values<typeof PATCH_FIELDS>, unknown>, "env" | "params" | "fields">): Promise<
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

/** Deletes a policy; one that does not exist is no error. */
export async function deletePolicy({
  env,
  params,
  fields,
}: Pick<CallContext<Values<typeof DELETE_FIELDS>, unknown>, "env" | "params" | "fields">): Promise<
  Result<Reply, Failure>
> {
  const name = normalizePolicyName(params.name ?? "");
  const refusal = policyDeleteRefusal(name);
  if (refusal) return err(invalid(refusal));
  const deleted = await systemOf(env).deletePolicy(name, fields.cas ?? null, currentTime());
  return deleted.ok ? changedReply(env) : deleted;
}

function writableName(params: PolicyCall["params"]): Result<string, Failure> {
  const name = normalizePolicyName(params.name ?? "");
  const problem = policyNameProblem(name) ?? policyWriteRefusal(name);
  return problem ? err(invalid(problem)) : ok(name);
}

type WrittenReply = Extract<Reply, { kind: "empty" | "data" }>;

function withNameWarning(reply: WrittenReply, params: PolicyCall["params"], name: string): WrittenReply {
  return name === params.name ? reply : withWarning(reply, `policy name was converted to ${name}`);
}

/** The reply with one more warning, which stands first. */
export function withWarning<R extends Reply>(reply: R, warning: string): R {
  const others = "warnings" in reply ? (reply.warnings ?? []) : [];
  return { ...reply, warnings: [warning, ...others] };
}
