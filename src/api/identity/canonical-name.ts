import { callerRecord } from "../../auth/caller.ts";
import type { CallContext } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import { DENIED, type Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { aclOfToken } from "../../identity/access.ts";
import { identityOf } from "../../identity/directory/stub.ts";
import { findEntity } from "../../identity/entities.ts";
import { evaluateAcl } from "../../policy/evaluate.ts";

type Call = Pick<CallContext<unknown, unknown>, "caller" | "env" | "installation" | "params" | "request">;

/**
 * The entity or group that the path of a request names. Names are found in any case, but a policy rule is written for
 * one spelling. So a path with another spelling is evaluated for the stored name as well: otherwise a rule for `admin`
 * would not hold for `Admin`.
 */
export async function canonicalName(
  context: Call,
  kind: "entity" | "group",
): Promise<Result<{ name: string }, Failure>> {
  const { env, installation, caller, params, request } = context;
  const key = { name: params.name ?? "" };
  const found = await (kind === "entity" ? findEntity(env, key) : identityOf(env).readGroup(key));
  if (!found || found.name === key.name) return ok(key);
  const acl = await aclOfToken(env, installation, callerRecord(caller));
  if (!acl.ok) return acl;
  const { operation, data, wrapTtlSeconds } = request;
  const access = {
    operation,
    path: `identity/${kind}/name/${found.name}`,
    data,
    ...(wrapTtlSeconds > 0 && { wrapTtlSeconds }),
  };
  return evaluateAcl(acl.value, access, currentTime()).allowed ? ok(key) : err(DENIED);
}
