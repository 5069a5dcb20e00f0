import { WorkerEntrypoint } from "cloudflare:workers";
import type { Lease, LeaseAnswer, LeaseAuthorityBinding, LeaseRevocation, NewLease } from "../../client/types.ts";
import { type LeaseRegistration, registerLease } from "../auth/register-lease.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type GrantedLease, lookupLease, renewLease, revokeLease, type ShownLease } from "../lease/lease-operations.ts";
import type { Installation } from "../system/installation.ts";
import { NO_ORIGIN } from "../system/revocation-origin.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { type AuditedCall, audited, refusalOf } from "./audited.ts";

const MAX_ID_LENGTH = 4096;

/** A Worker calls without a token and without a client address. The names of its fields are ours. */
const WORKER = { clientAddress: null, token: "", isKnown: () => true } as const;

/**
 * The entrypoint `LeaseAuthority` for service bindings: leases of secrets that other Workers issue. It is separate from
 * `TokenAuthority`, so that a Worker that only checks tokens can't revoke anything. After a refusal of `register` there is no
 * lease, and the caller must revoke the secret.
 */
export class LeaseAuthority extends WorkerEntrypoint<Env> implements LeaseAuthorityBinding {
  /** Registers a lease for a token. When the token or the lease ends, Grove calls the target to revoke the secret. */
  async register(lease: NewLease): Promise<LeaseAnswer> {
    const registration = readRegistration(lease);
    const { path, accessor, token, target, ttl, maxTtl } = lease;
    const data = { path, accessor, token, target, ttl, maxTtl };
    return this.#answer(
      { operation: "create", path: "sys/leases/register", acts: true, data },
      async (installation, notes) =>
        registration.ok ? registerLease(this.env, installation, registration.value, notes) : registration,
    );
  }

  /** Returns the lease of a secret or of a token. */
  async lookup(leaseId: string): Promise<LeaseAnswer> {
    return this.#answer(
      { operation: "read", path: "sys/leases/lookup", acts: false, data: { lease_id: leaseId } },
      (installation, notes) => onId(leaseId, (id) => this.#held(installation, id, notes)),
    );
  }

  /** An engine asks whether its secret may be used: no secret of an ended lease may, also of one that was given up. */
  async #held(installation: Installation, id: string, notes: AuditNotes): Promise<Result<ShownLease>> {
    const found = await lookupLease(this.env, installation, id, notes);
    return found.ok && found.value.nextAttemptAt !== undefined ? NOT_FOUND : found;
  }

  /** Renews the lease of a secret. `increment` 0 or absent: as granted last. */
  async renew(leaseId: string, increment = 0): Promise<LeaseAnswer> {
    const data = { lease_id: leaseId, increment };
    return this.#answer(
      { operation: "update", path: "sys/leases/renew", acts: true, data },
      async (installation, notes) => {
        if (!Number.isSafeInteger(increment)) return refuse("increment must be a whole number of seconds");
        return onId(leaseId, (id) => renewLease(this.env, installation, id, increment, notes));
      },
    );
  }

  /** Revokes a lease and waits for its target. The lease of a token is revoked with all descendants of the token. */
  async revoke(leaseId: string): Promise<LeaseRevocation> {
    const path = "sys/leases/revoke";
    const call = { ...WORKER, operation: "update", path, acts: true, data: { lease_id: leaseId } } as const;
    const result = await audited(this.env, this.ctx, call, (installation, notes, request) => {
      const how = { wait: true, force: false, asked: { ...NO_ORIGIN, request, path } };
      return onId(leaseId, (id) => revokeLease(this.env, installation, id, how, notes));
    });
    return result.ok ? { done: true } : { done: false, ...refusalOf(result.error) };
  }

  async #answer(
    asked: Pick<AuditedCall, "acts" | "data" | "operation" | "path">,
    work: (installation: Installation, notes: AuditNotes) => Promise<Result<GrantedLease | ShownLease>>,
  ): Promise<LeaseAnswer> {
    const result = await audited(this.env, this.ctx, { ...WORKER, ...asked }, work);
    if (!result.ok) return { done: false, ...refusalOf(result.error) };
    const { lease, warnings } = "lease" in result.value ? result.value : { lease: result.value, warnings: [] };
    return { done: true, lease: leaseOf(lease), warnings };
  }
}

function readRegistration(lease: NewLease): Result<LeaseRegistration> {
  const { token = "", accessor = "", path, ttl = 0, maxTtl = 0, renewable = true, target, data } = lease;
  if (![token, accessor, path, target].every((text) => typeof text === "string")) {
    return refuse("token, accessor, path and target must be texts");
  }
  if (![ttl, maxTtl].every((seconds) => Number.isSafeInteger(seconds) && seconds >= 0)) {
    return refuse("ttl and maxTtl must be whole numbers of seconds");
  }
  return ok({ token, accessor, path, ttl, maxTtl, renewable: renewable === true, target, data: data ?? null });
}

async function onId<T>(leaseId: unknown, work: (id: string) => Promise<Result<T>>): Promise<Result<T>> {
  return typeof leaseId === "string" && leaseId.length <= MAX_ID_LENGTH ? work(leaseId) : refuse("invalid lease");
}

function leaseOf({ id, path, issuedAt, expiresAt, renewable }: ShownLease): Lease {
  return { id, path, issuedAt, expiresAt, renewable };
}
