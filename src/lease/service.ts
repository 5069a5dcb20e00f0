import { isBatchAlive, readToken } from "../auth/caller.ts";
import { currentTime } from "../base/clock.ts";
import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import { sealData } from "../crypto/sealed-data.ts";
import type { Env } from "../env.ts";
import type { Installation } from "../system/installation.ts";
import { MAX_ROW_DRAWS, readAccessor } from "../token/ids.ts";
import type { TokenView } from "../token/record.ts";
import { treeOf } from "../tree/find-tree.ts";
import type { LeaseHolder, LeaseOutcome, LeaseReference } from "../tree/leases/actions.ts";
import { leaseDataContext } from "../tree/leases/delivery.ts";
import { type NamedLease, newLeaseIds, readLeaseId } from "../tree/leases/ids.ts";
import type { LeaseView } from "../tree/leases/record.ts";
import { endpointSettings, readRevocationEndpoint } from "../tree/leases/revocation-endpoint.ts";
import { type LeaseRequest, leasePathProblem } from "../tree/leases/rules.ts";
import type { AuditNotes } from "../wire/audit.ts";

/** Characters of the JSON that an engine keeps in a lease. */
const MAX_DATA_LENGTH = 8192;

/** A lease to register. Durations in seconds, 0: not set. */
export interface LeaseRegistration {
  /** The token that shall hold the lease; "" when `accessor` names it. */
  readonly token: string;
  readonly accessor: string;
  /** The path that made the secret, without slashes at its ends. */
  readonly path: string;
  readonly ttl: number;
  readonly maxTtl: number;
  readonly renewable: boolean;
  /** Where the revocation is sent: an https URL, or `service://BINDING/path`. */
  readonly target: string;
  /** Sent with the revocation; null for nothing. */
  readonly data: Readonly<Record<string, unknown>> | null;
}

/** A lease as somebody sees it who may. */
export type ShownLease =
  | { readonly kind: "token"; readonly leaseId: string; readonly token: TokenView }
  | { readonly kind: "secret"; readonly lease: LeaseView };

/** A lease with what the caller should know about its lifetime. */
export interface GrantedLease {
  readonly lease: LeaseView;
  readonly warnings: readonly string[];
}

/** The message for a lease that is not there, or not any more. It is the reference's (sys/leases). */
const LEASE_NOT_FOUND = invalid("lease not found");

/**
 * Registers a lease for a token. When the token or the lease ends, its endpoint is told to revoke the secret. A batch
 * token is not stored, so its leases are stored with its parent and end with either; a batch token without a parent
 * cannot hold leases. After any failure there is no lease, and the engine must revoke the secret itself.
 */
export async function registerLease(
  env: Env,
  installation: Installation,
  registration: LeaseRegistration,
  notes: AuditNotes,
): Promise<Result<GrantedLease, Failure>> {
  const { path, ttl, maxTtl, renewable } = registration;
  const problem = leasePathProblem(path);
  if (problem) return err(invalid(problem));
  const target = readRevocationEndpoint(registration.target, endpointSettings(env));
  if (!target.ok) return err(invalid(target.error));
  const plain = registration.data && JSON.stringify(registration.data);
  if (plain && plain.length > MAX_DATA_LENGTH) return err(invalid("data is too large"));
  const found = await findHolder(env, installation, registration);
  if (!found.ok) return found;
  const { treeId, holder } = found.value;
  // Its tag was checked: it is an accessor of this installation and no text of the client's.
  if (registration.accessor !== "") notes.targetAccessor = registration.accessor;
  const tree = treeOf(env, treeId);
  if (!tree) return err(NO_HOLDER);
  const request: LeaseRequest = { path, ttl, maxTtl, renewable, target: target.value };
  for (let draw = 1; draw <= MAX_ROW_DRAWS; draw++) {
    const ids = await newLeaseIds(installation.keys, treeId, currentTime());
    const sealed =
      plain === null
        ? null
        : await sealData(installation.keys, leaseDataContext(ids.text, target.value), new TextEncoder().encode(plain));
    const outcome = await tree.lease({ kind: "register", holder, request, ids, data: sealed });
    if (!outcome.ok) return err(outcome.error.code === "not_found" ? NO_HOLDER : outcome.error);
    if (outcome.value.kind !== "row_taken") return granted(outcome.value);
  }
  return err({ code: "unavailable", message: "the lease could not be stored; try again", retryAfterSeconds: 1 });
}

/** Looks a lease up, of a token or of a secret. "not_found" for one that is not there. */
export async function lookupLease(
  env: Env,
  installation: Installation,
  leaseId: string,
  notes: AuditNotes,
): Promise<Result<ShownLease, Failure>> {
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return err({ code: "not_found" });
  if (named.kind === "token") {
    const token = await leasedToken(env, named);
    if (token) notes.targetAccessor = token.accessor;
    return token ? ok({ kind: "token", leaseId, token }) : err({ code: "not_found" });
  }
  const outcome = await treeOf(env, named.credential.treeId)?.lease({ kind: "lookup", lease: targetOf(named) });
  if (!outcome?.ok) return err({ code: "not_found" });
  return ok({ kind: "secret", lease: granted(outcome.value).value.lease });
}

/** Renews the lease of a secret. `increment` in seconds; 0 repeats the last grant. */
export async function renewLease(
  env: Env,
  installation: Installation,
  leaseId: string,
  increment: number,
): Promise<Result<GrantedLease, Failure>> {
  if (increment < 0) return err(invalid("increment cannot be negative"));
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return err(LEASE_NOT_FOUND);
  if (named.kind === "token") {
    const token = await leasedToken(env, named);
    return err(token ? invalid("tokens cannot be renewed through this endpoint") : LEASE_NOT_FOUND);
  }
  const lease = targetOf(named);
  const outcome = await treeOf(env, named.credential.treeId)?.lease({ kind: "renew", lease, increment });
  if (!outcome) return err(LEASE_NOT_FOUND);
  if (!outcome.ok) return err(outcome.error.code === "not_found" ? LEASE_NOT_FOUND : outcome.error);
  return granted(outcome.value);
}

/**
 * Revokes a lease; that of a token with everything below the token. Revoking what is not there is no error.
 *
 * `wait` sends the revocation of a secret before the answer, else the tree does it after; `force` sends it once and forgets
 * the lease whatever the target says.
 *
 * @param notes get the accessor of the token that goes.
 * @returns whether there was such a lease; a failure with the target's refusal, after which the tree goes on trying.
 */
export async function revokeLease(
  env: Env,
  installation: Installation,
  leaseId: string,
  { wait, force }: { readonly wait: boolean; readonly force: boolean },
  notes: AuditNotes,
): Promise<Result<boolean, Failure>> {
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return ok(false);
  if (named.kind === "token") {
    const { treeId, row } = named.address;
    const tree = treeOf(env, treeId);
    const token = tree && (await leasedToken(env, named));
    if (!token) return ok(false);
    notes.targetAccessor = token.accessor;
    const revoked = await tree.act({ kind: "revoke", target: { by: "lease", row } });
    return revoked.ok || revoked.error.code === "not_found" ? ok(revoked.ok) : revoked;
  }
  const outcome = await treeOf(env, named.credential.treeId)?.lease({
    kind: "revoke",
    lease: targetOf(named),
    wait,
    force,
  });
  if (!outcome?.ok) return ok(false);
  const error = outcome.value.kind === "revoked" ? outcome.value.error : null;
  return error === null ? ok(true) : err(invalid(`failed to revoke ${JSON.stringify(leaseId)} (1 / 1): ${error}`));
}

type NamedTokenLease = Extract<NamedLease, { kind: "token" }>;

const NO_HOLDER = invalid("token not found");

interface FoundHolder {
  readonly treeId: string;
  readonly holder: LeaseHolder;
}

async function findHolder(
  env: Env,
  installation: Installation,
  { token, accessor }: LeaseRegistration,
): Promise<Result<FoundHolder, Failure>> {
  if ((token === "") === (accessor === "")) return err(invalid("exactly one of token and accessor must be specified"));
  if (accessor !== "") {
    const read = await readAccessor(installation.keys, accessor);
    if (!read) return err(NO_HOLDER);
    return ok({ treeId: read.treeId, holder: { by: "accessor", row: read.row, tail: read.tail } });
  }
  const presented = await readToken(env, installation, token);
  if (!presented) return err(NO_HOLDER);
  if (presented.kind === "service") {
    const { treeId, row, verifier } = presented.credential;
    return ok({ treeId, holder: { by: "token", row, verifier } });
  }
  if (presented.kind === "team") return err(invalid("a team token cannot hold leases"));
  const batch = presented.token;
  if (!(await isBatchAlive(env, installation, batch, currentTime()))) return err(NO_HOLDER);
  if (!batch.parent) return err(invalid("a batch token without a parent cannot hold leases: nothing would end them"));
  return ok({
    treeId: batch.parent.treeId,
    holder: { by: "batch", row: batch.parent.row, endsBy: batch.expiresAt },
  });
}

async function leasedToken(env: Env, { path, address }: NamedTokenLease): Promise<TokenView | null> {
  const { treeId, row } = address;
  const outcome = await treeOf(env, treeId)?.act({ kind: "lookup", target: { by: "lease", row } });
  if (!outcome?.ok || outcome.value.kind !== "token") return null;
  const { token } = outcome.value;
  return token.leased && token.path === path ? token : null;
}

function targetOf({ path, credential: { row, tail } }: Extract<NamedLease, { kind: "secret" }>): LeaseReference {
  return { row, tail, path };
}

function granted(outcome: LeaseOutcome): { readonly ok: true; readonly value: GrantedLease } {
  if (outcome.kind !== "lease") throw new Error(`this does not end in "${outcome.kind}"`);
  return ok({ lease: outcome.lease, warnings: outcome.warnings });
}
