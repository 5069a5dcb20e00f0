import { currentTime } from "../base/clock.ts";
import { err, ok, type Result, refuse, unavailable } from "../base/result.ts";
import { sealText } from "../crypto/sealed-data.ts";
import type { Env } from "../env.ts";
import type { LeaseRequest } from "../lease/actions.ts";
import { newLeaseIds } from "../lease/ids.ts";
import { type GrantedLease, granted, leaseInTree } from "../lease/lease-operations.ts";
import { leaseRequestProblem } from "../lease/lease-ttl.ts";
import { leaseDataContext } from "../lease/revocation-delivery.ts";
import { endpointSettings, readRevocationEndpoint } from "../lease/revocation-endpoint.ts";
import type { Installation } from "../system/installation.ts";
import { MAX_ROW_ATTEMPTS } from "../token/ids.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { findLeaseHolder, NO_LEASE_HOLDER } from "./lease-holder.ts";

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
 * Registers a lease for a token. When the token or the lease ends, the target is called to revoke the secret. After any
 * failure there is no lease, and the engine must revoke the secret itself.
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
  const found = await findLeaseHolder(env, installation, registration);
  if (!found.ok) return found;
  const { treeId, target: holder } = found.value;
  // The tag of the accessor was verified, so the audit log gets no arbitrary text of the client. It is known before the
  // tree answers, that of a token only afterwards.
  if (registration.accessor !== "") notes.targetAccessor = registration.accessor;
  const request: LeaseRequest = { path, ttl, maxTtl, renewable, target };
  for (let attempt = 1; attempt <= MAX_ROW_ATTEMPTS; attempt++) {
    const ids = await newLeaseIds(installation.keys, treeId, currentTime());
    const sealed = plain === null ? null : await sealText(installation.keys, leaseDataContext(ids.text, target), plain);
    const outcome = await leaseInTree(env, treeId, { kind: "register", holder, request, ids, data: sealed });
    if (!outcome.ok) return err(outcome.error.code === "not_found" ? NO_LEASE_HOLDER : outcome.error);
    if (outcome.value.kind === "row_taken") continue;
    const lease = granted(outcome.value);
    if (lease.lease.holder !== undefined) notes.targetAccessor = lease.lease.holder;
    return ok(lease);
  }
  return err(unavailable("the lease could not be stored; try again"));
}
