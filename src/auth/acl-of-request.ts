import { aclOfToken } from "../identity/standing.ts";
import type { Acl } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import { auditCaller } from "./audit-record.ts";
import { callerRecord, identify } from "./caller.ts";
import type { RequestContext } from "./route.ts";

/** Returns the ACL of a request's token, for an open endpoint that shows more with one. null without a valid token. */
export async function aclOfRequest(
  { env, request }: Pick<RequestContext, "env" | "request">,
  installation: Installation,
): Promise<Acl | null> {
  if (request.token === "") return null;
  const caller = await identify(env, installation, request.token, request.clientAddress);
  if (caller) request.notes.auth = auditCaller(caller);
  const acl = caller && (await aclOfToken(env, installation, callerRecord(caller)));
  return acl?.ok ? acl.value : null;
}
