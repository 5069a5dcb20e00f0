import { MAX_PARALLEL_CALLS } from "../../../base/parallel.ts";
import { err, inContext, ok, type Result, refuse } from "../../../base/result.ts";
import { parsePrincipalArn } from "../arn.ts";
import { type CloudAccess, type CloudClient, openClient } from "../clients/client.ts";
import { DEFAULT_CLIENT } from "../clients/config.ts";
import { findPrincipal } from "../clients/principals.ts";
import { cloudAuthAt } from "../mount/mount.ts";

/** The client of a mount with its stored configuration. Requests of operators never use an isolate's copy of it. */
export async function operatorClient(access: CloudAccess): Promise<CloudClient> {
  const config = await cloudAuthAt(access.env, access.mount).readClient();
  return openClient(access, config ?? DEFAULT_CLIENT);
}

/**
 * Asks the cloud for the unique ids of principals.
 *
 * @returns the ids by ARN; or which item failed and why.
 */
export async function resolvePrincipals(
  access: CloudAccess,
  arns: readonly string[],
): Promise<Result<Record<string, string>>> {
  const client = await operatorClient(access);
  const ids: Record<string, string> = {};
  for (let from = 0; from < arns.length; from += MAX_PARALLEL_CALLS) {
    const part = arns.slice(from, from + MAX_PARALLEL_CALLS);
    const answers = await Promise.all(part.map((arn) => resolve(client, arn)));
    for (const [index, answer] of answers.entries()) {
      const what = `unable to resolve ARN ${from + index + 1} of bound_iam_principal_arn to internal ID`;
      if (!answer.ok) return err(inContext(what, answer.error));
      ids[part[index] ?? ""] = answer.value;
    }
  }
  return ok(ids);
}

async function resolve(client: CloudClient, arn: string): Promise<Result<string>> {
  const principal = parsePrincipalArn(arn);
  if (!principal.ok) return refuse(principal.error);
  const { type, accountId } = principal.value;
  if (type !== "user" && type !== "role") return refuse("only users and roles have a unique ID");
  const stsRole = await cloudAuthAt(client.env, client.mount).readStsRole(accountId);
  const found = await findPrincipal({ ...client, accountId, stsRole }, principal.value);
  return found.ok ? ok(found.value.uniqueId) : found;
}
