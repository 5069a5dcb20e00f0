import { currentTime, type Ms } from "../base/clock.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { aclOfToken } from "../identity/entity-copies.ts";
import type { Acl, Trace, Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import { type Actor, MAX_KEPT_PATH, type RevocationOrigin } from "../system/revocation-origin.ts";
import { isEnded, isEndedSince } from "../system/watermarks.ts";
import type { BatchToken } from "../token/batch.ts";
import { type Call, type Circumstances, verdictForToken } from "../token/decide.ts";
import { auditAuth, type TokenRecord, type TokenView } from "../token/record.ts";
import { addressAllowed } from "../token/rules/bound-cidrs.ts";
import { actInTree } from "../token/tree-calls.ts";
import { treeAt } from "../token/tree-stub.ts";
import { knownToken } from "../tree/known-tokens.ts";
import type { AuditAuth } from "../wire/audit.ts";
import { auditPath } from "../wire/audit-masking.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { RegisteredCaller } from "./credential.ts";
import { type ParsedToken, readToken } from "./read-token.ts";

/** The authenticated caller of a request. `record` has the immutable properties of its token. */
export type Caller =
  | { readonly kind: "service"; readonly record: TokenRecord; readonly accessor: string; readonly token: TokenView }
  | { readonly kind: "batch"; readonly record: TokenRecord; readonly accessor: ""; readonly token: BatchToken }
  | RegisteredCaller;

/** Returns the name of the kind of a token, as look-ups, audit lines and refusals have it. */
export function kindName(token: ParsedToken | Caller): string {
  return token.kind === "registered" ? token.type : token.kind;
}

export function serviceCaller(token: TokenView): Caller {
  return { kind: "service", record: token, accessor: token.accessor, token };
}

/** Returns the token of a caller for the audit log. */
export function auditCaller(caller: Caller): AuditAuth {
  return auditAuth(caller.record, caller.accessor, kindName(caller));
}

/** Returns the request that is stored with the tokens it ends: the caller, the id of the request, and its path. */
export function originOfCaller(caller: Caller, { id, path }: Pick<GroveRequest, "id" | "path">): RevocationOrigin {
  return { by: actorOf(caller), request: id, path: auditPath(path).slice(0, MAX_KEPT_PATH), job: "" };
}

/** Returns the caller as it is stored with the tokens that it ends. */
export function actorOf({ accessor, record: { displayName, entityId } }: Caller): Actor {
  return { accessor, displayName, entityId };
}

/** True when a batch token is valid at `now`: not expired, not ended by a watermark, its parent (if any) alive. */
export async function isBatchAlive(env: Env, { watermarks }: Installation, token: BatchToken, now: Ms) {
  if (token.expiresAt <= now || isEnded(watermarks, "all", token.record)) return false;
  if (!token.parent) return true;
  const { treeId, row } = token.parent;
  if (env.deployment.knownTokens.find(treeId, row, watermarks, now) !== null) return true;
  return treeAt(env, treeId).isAlive(row);
}

/** Returns the ACL of the token of a request to an open endpoint; null for an invalid one. Counts no use. */
export async function aclOfRequest(
  env: Env,
  installation: Installation,
  { token, clientAddress, notes }: Pick<GroveRequest, "token" | "clientAddress" | "notes">,
): Promise<Acl | null> {
  const presented = await readToken(env, installation, token);
  const caller = presented && (await callerOf(env, installation, presented));
  if (!caller || !addressAllowed(caller.record.boundCidrs, clientAddress)) return null;
  notes.auth = auditCaller(caller);
  const acl = await aclOfToken(env, installation, caller.record);
  return acl.ok ? acl.value : null;
}

/**
 * Returns the caller of a parsed token; null when it is not valid now. Counts no use and checks no bound networks.
 * @param purpose see `RegisteredToken`.
 */
export async function callerOf(
  env: Env,
  installation: Installation,
  presented: ParsedToken,
  purpose: "use" | "look-up" = "look-up",
): Promise<Caller | null> {
  if (presented.kind === "batch") {
    const { token } = presented;
    const isAlive = await isBatchAlive(env, installation, token, currentTime());
    return isAlive ? { kind: "batch", record: token.record, accessor: "", token } : null;
  }
  if (presented.kind === "registered") {
    const caller = await presented.authenticate(env, purpose);
    return caller && !isEndedSince(installation.watermarks, caller.record.createdAt) ? caller : null;
  }
  const { treeId, row, verifier } = presented.credential;
  const { knownTokens } = env.deployment;
  const known = knownToken(knownTokens, presented.credential, installation.watermarks, currentTime());
  if (known) return serviceCaller(known);
  const found = await actInTree(env, treeId, { kind: "lookup", target: { by: "token", row, verifier } });
  return found.ok && found.value.kind === "token" ? serviceCaller(found.value.token) : null;
}

/**
 * Decides about a request of a valid caller, see `verdictForToken`. A credential of a registered kind can have rights
 * of its own.
 */
export function verdictForCaller(
  caller: Caller,
  call: Call,
  facts: Circumstances & { readonly installation: Installation },
  trace?: Trace,
): Result<Verdict | null> {
  const own = caller.kind === "registered" ? caller.ownVerdict(facts.installation, call.access, facts.now) : null;
  return own ? ok(own) : verdictForToken(caller.record, call, facts, trace);
}
