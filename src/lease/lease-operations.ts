import type { Ms, Seconds } from "../base/clock.ts";
import { attempted, type CallAttempt, changedOnce } from "../base/lost-call-retry.ts";
import { LOST } from "../base/platform-errors.ts";
import { err, invalid, NOT_FOUND, ok, type Result, refuse } from "../base/result.ts";
import type { Installation } from "../system/installation.ts";
import type { RevocationOrigin } from "../system/revocation-origin.ts";
import type { TokenView } from "../token/record.ts";
import { actInTree } from "../token/tree-calls.ts";
import { treeAt } from "../token/tree-stub.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { type LeaseAction, type LeaseOutcome, type LeaseStanding, type LeaseView, leaseIdOf } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import { type NamedLease, readLeaseId } from "./ids.ts";
import { incrementProblem } from "./lease-ttl.ts";

/** The lease of a secret or of a token, as clients see it. */
export interface ShownLease
  extends Pick<
    LeaseView,
    "path" | "target" | "renewable" | "issuedAt" | "renewedAt" | "error" | "holder" | "nextAttemptAt"
  > {
  readonly id: string;
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** TTL of the last grant. */
  readonly grantedTtl: Seconds;
}

export interface GrantedLease {
  readonly lease: ShownLease;
  readonly warnings: readonly string[];
}

/** The message is the reference's (sys/leases). */
const LEASE_NOT_FOUND = invalid("lease not found");

/**
 * Fails with "not_found" without such a lease. One that has ended is found as long as its revocation fails.
 *
 * @param notes receive the accessor of a token, for the audit log
 */
export async function lookupLease(
  env: LeaseEnv,
  installation: Installation,
  leaseId: string,
  notes: AuditNotes,
): Promise<Result<ShownLease>> {
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return NOT_FOUND;
  if (named.kind === "token") {
    const token = await leasedToken(env, named);
    if (!token) return NOT_FOUND;
    notes.targetAccessor = token.accessor;
    const { path, renewable, createdAt: issuedAt, expiresAt, renewedAt, grantedTtl } = token;
    return ok({
      id: leaseId,
      path,
      target: "",
      renewable,
      issuedAt,
      expiresAt,
      renewedAt,
      grantedTtl,
      error: null,
    });
  }
  const outcome = await leaseInTree(env, named.treeId, { kind: "lookup", lease: named.lease });
  if (!outcome.ok) return NOT_FOUND;
  return ok(granted(outcome.value).lease);
}

/** Performs an action on a lease in the tree of its holder, repeated as in `runInTree`. */
export async function leaseInTree(env: LeaseEnv, treeId: string, action: LeaseAction): Promise<Result<LeaseOutcome>> {
  const act = async (attempt?: CallAttempt): Promise<Result<LeaseOutcome>> => {
    const outcome = await treeAt(env, treeId).lease(action, attempt);
    // The row of an earlier attempt, if an object of 1.0.0-rc.1 wrote it. The secret would get a second lease.
    return attempt?.again && outcome.ok && outcome.value.kind === "row_taken" ? err(LOST) : outcome;
  };
  const { kind } = action;
  return kind === "lookup" || kind === "verify" ? (await attempted(env, act)).answer : changedOnce(env, act);
}

/** The standing of a lease; null for a text that is the id of no lease of this installation. */
export async function standingOfLease(
  env: LeaseEnv,
  installation: Installation,
  leaseId: string,
): Promise<Exclude<LeaseStanding, "path_differs"> | null> {
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return null;
  if (named.kind === "token") {
    const token = await liveToken(env, named);
    if (!token) return "ended";
    return hasLease(token, named) ? "held" : null;
  }
  const standing = await standingInTree(env, named);
  return standing === "path_differs" ? null : standing;
}

/** The standing of a secret's lease as its tree says it. */
export async function standingInTree(
  env: LeaseEnv,
  { treeId, lease }: Extract<NamedLease, { kind: "secret" }>,
): Promise<LeaseStanding> {
  const outcome = await leaseInTree(env, treeId, { kind: "verify", lease });
  if (!outcome.ok || outcome.value.kind !== "standing") throw new Error("the tree does not say how the lease stands");
  return outcome.value.standing;
}

/**
 * Renews the lease of a secret. `increment` 0 repeats the last grant. `notes` receives the accessor of the token that holds
 * the lease, for the audit log.
 */
export async function renewLease(
  env: LeaseEnv,
  installation: Installation,
  leaseId: string,
  increment: Seconds,
  notes: AuditNotes,
): Promise<Result<GrantedLease>> {
  const problem = incrementProblem(increment);
  if (problem) return refuse(problem);
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return err(LEASE_NOT_FOUND);
  if (named.kind === "token") {
    const token = await leasedToken(env, named);
    return err(token ? invalid("tokens cannot be renewed through this endpoint") : LEASE_NOT_FOUND);
  }
  const outcome = await leaseInTree(env, named.treeId, { kind: "renew", lease: named.lease, increment });
  if (!outcome.ok) return err(outcome.error.code === "not_found" ? LEASE_NOT_FOUND : outcome.error);
  const lease = granted(outcome.value);
  noteHolder(notes, lease.lease.holder);
  return ok(lease);
}

/**
 * Revokes a lease: of a token, with the token and everything below it. With `wait` the revocation of a secret is
 * sent before the answer; without it the tree sends it afterwards. With `force` it is sent once, and the lease is
 * deleted even when the target refuses. `notes` receives the accessor of a revoked token, or of the token that held the
 * lease, for the audit log.
 *
 * @returns whether there was such a lease. A failure contains the error of the target; the tree retries by itself.
 */
export async function revokeLease(
  env: LeaseEnv,
  installation: Installation,
  leaseId: string,
  { wait, force, asked }: { readonly wait: boolean; readonly force: boolean; readonly asked: RevocationOrigin },
  notes: AuditNotes,
): Promise<Result<boolean>> {
  const named = await readLeaseId(installation.keys, leaseId);
  if (!named) return ok(false);
  if (named.kind === "token") {
    const token = await leasedToken(env, named);
    if (!token) return ok(false);
    notes.targetAccessor = token.accessor;
    const target = { by: "lease", row: named.row } as const;
    const revoked = await actInTree(env, named.treeId, { kind: "revoke", target, asked });
    return revoked.ok || revoked.error.code === "not_found" ? ok(revoked.ok) : revoked;
  }
  const revoke = async (): Promise<Result<LeaseOutcome>> =>
    await treeAt(env, named.treeId).lease({ kind: "revoke", lease: named.lease, wait, force });
  const { answer: outcome, isRepetition } = await attempted(env, revoke);
  // An earlier attempt may have ended it.
  if (!outcome.ok) return ok(isRepetition);
  const { error, holder } = outcome.value.kind === "revoked" ? outcome.value : { error: null };
  noteHolder(notes, holder);
  return error === null ? ok(true) : refuse(`failed to revoke ${JSON.stringify(leaseId)} (1 / 1): ${error}`);
}

function noteHolder(notes: AuditNotes, holder: string | undefined): void {
  if (holder !== undefined) notes.holderAccessor = holder;
}

type NamedToken = Extract<NamedLease, { kind: "token" }>;

async function leasedToken(env: LeaseEnv, named: NamedToken): Promise<TokenView | null> {
  const token = await liveToken(env, named);
  return token && hasLease(token, named) ? token : null;
}

async function liveToken(env: LeaseEnv, { treeId, row }: NamedToken): Promise<TokenView | null> {
  const outcome = await actInTree(env, treeId, { kind: "lookup", target: { by: "lease", row } });
  return outcome.ok && outcome.value.kind === "token" ? outcome.value.token : null;
}

/** False for a token without a lease, and for a lease id with another path than that of the token. */
function hasLease({ leased, path }: TokenView, named: NamedToken): boolean {
  return leased && path === named.path;
}

/** The lease of an outcome. @throws Error for an outcome without one. */
export function granted(outcome: LeaseOutcome): GrantedLease {
  if (outcome.kind !== "lease") throw new Error(`this does not end in "${outcome.kind}"`);
  return { lease: { ...outcome.lease, id: leaseIdOf(outcome.lease) }, warnings: outcome.warnings };
}
