import { currentTime } from "../base/clock.ts";
import { err, invalid, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { sealText } from "../crypto/sealed-data.ts";
import type { Env } from "../env.ts";
import type { LeaseHolder, LeaseRequest } from "../lease/actions.ts";
import { leaseRequestProblem } from "../lease/grant-lease.ts";
import { newLeaseIds } from "../lease/ids.ts";
import { type GrantedLease, granted } from "../lease/lease-operations.ts";
import { leaseDataContext } from "../lease/revocation-delivery.ts";
import { endpointSettings, readRevocationEndpoint } from "../lease/revocation-endpoint.ts";
import type { Installation } from "../system/installation.ts";
import { MAX_ROW_ATTEMPTS } from "../token/ids.ts";
import { treeAt } from "../token/tree-stub.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { isBatchAlive, readToken } from "./caller.ts";
import { accessorTarget, tokenTarget } from "./named-token.ts";

const NO_HOLDER = invalid("token not found");

/** Maximum length, in characters, of the JSON that an engine stores with a lease. */
const MAX_DATA_LENGTH = 8192;

/** A lease to register. `target` is an https URL, or `service://BINDING/path`. */
export interface LeaseRegistration extends LeaseRequest {
  /** The token that holds the lease; "" when `accessor` names it. */
  readonly token: string;
  readonly accessor: string;
  /** Data that are sent with the revocation; null for none. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** Checks what needs no stored data. Returns the registration with its target normalized. */
export function checkRegistration(env: Env, registration: LeaseRegistration): Result<LeaseRegistration> {
  const { token, accessor, data } = registration;
  if ((token === "") === (accessor === "")) return refuse("exactly one of token and accessor must be specified");
  const problem = leaseRequestProblem(registration);
  if (problem) return refuse(problem);
  const target = readRevocationEndpoint(registration.target, endpointSettings(env));
  if (!target.ok) return refuse(target.error);
  if (data && JSON.stringify(data).length > MAX_DATA_LENGTH) return refuse("data is too large");
  return ok({ ...registration, target: target.value });
}

/**
 * Registers a lease for a token. When the token or the lease ends, the target is called to revoke the secret. A batch
 * token is not stored, so its leases are stored with its parent and end with either of the two. A batch token without a
 * parent can't hold leases. After any failure there is no lease, and the engine must revoke the secret itself.
 */
export async function registerLease(
  env: Env,
  installation: Installation,
  registration: LeaseRegistration,
  notes: AuditNotes,
): Promise<Result<GrantedLease>> {
  const checked = checkRegistration(env, registration);
  if (!checked.ok) return checked;
  const { path, ttl, maxTtl, renewable, target } = checked.value;
  const plain = registration.data && JSON.stringify(registration.data);
  const found = await findHolder(env, installation, registration);
  if (!found.ok) return found;
  const { treeId, target: holder } = found.value;
  // The tag of the accessor was verified, so the audit log gets no arbitrary text of the client.
  if (registration.accessor !== "") notes.targetAccessor = registration.accessor;
  const tree = treeAt(env, treeId);
  const request: LeaseRequest = { path, ttl, maxTtl, renewable, target };
  for (let attempt = 1; attempt <= MAX_ROW_ATTEMPTS; attempt++) {
    const ids = await newLeaseIds(installation.keys, treeId, currentTime());
    const sealed = plain === null ? null : await sealText(installation.keys, leaseDataContext(ids.text, target), plain);
    const outcome = await tree.lease({ kind: "register", holder, request, ids, data: sealed });
    if (!outcome.ok) return err(outcome.error.code === "not_found" ? NO_HOLDER : outcome.error);
    if (outcome.value.kind !== "row_taken") return ok(granted(outcome.value));
  }
  return err(unavailable("the lease could not be stored; try again"));
}

async function findHolder(env: Env, installation: Installation, { token, accessor }: LeaseRegistration) {
  if (accessor !== "") {
    const found = await accessorTarget(installation.keys, accessor);
    return found ? ok(found) : err(NO_HOLDER);
  }
  const presented = await readToken(env, installation, token);
  if (!presented) return err(NO_HOLDER);
  if (presented.kind === "service") return ok(tokenTarget(presented));
  if (presented.kind === "registered") return refuse(`a ${presented.type} token cannot hold leases`);
  const batch = presented.token;
  if (!(await isBatchAlive(env, installation, batch, currentTime()))) return err(NO_HOLDER);
  if (!batch.parent) return refuse("a batch token without a parent cannot hold leases: nothing would end them");
  const { treeId, row } = batch.parent;
  const target: LeaseHolder = { by: "batch", row, endsBy: batch.expiresAt };
  return ok({ treeId, target });
}
