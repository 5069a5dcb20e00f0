import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { parsePrincipalArn } from "../arn.ts";
import type { CloudAccess } from "../clients/open-client.ts";
import { cloudApi } from "./cloud-api.ts";

/** Calls that the platform makes at once for one request. */
const AT_ONCE = 6;

/**
 * Asks the cloud for the unique ids of principals.
 *
 * @returns the ids by ARN; or which item failed and why.
 */
export async function resolvePrincipals(
  access: CloudAccess,
  arns: readonly string[],
): Promise<Result<Record<string, string>, Failure>> {
  const ids: Record<string, string> = {};
  for (let from = 0; from < arns.length; from += AT_ONCE) {
    const part = arns.slice(from, from + AT_ONCE);
    const answers = await Promise.all(part.map((arn) => resolve(access, arn)));
    for (const [index, answer] of answers.entries()) {
      if (!answer.ok) return err(explain(answer.error, from + index + 1));
      ids[part[index] ?? ""] = answer.value;
    }
  }
  return ok(ids);
}

async function resolve(access: CloudAccess, arn: string): Promise<Result<string, Failure>> {
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return err(invalid(principal.error));
  const { type } = principal.value;
  if (type !== "user" && type !== "role") return err(invalid("only users and roles have a unique ID"));
  return cloudApi.resolvePrincipal(access, principal.value);
}

function explain(failure: Failure, position: number): Failure {
  if (!("message" in failure)) return failure;
  const what = `unable to resolve ARN ${position} of bound_iam_principal_arn to internal ID: `;
  return { ...failure, message: what + failure.message };
}
