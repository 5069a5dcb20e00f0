import { WorkerEntrypoint } from "cloudflare:workers";
import type { Lease, LeaseAnswer, LeaseAuthorityBinding, LeaseRevocation, NewLease } from "../../client/types.ts";
import { type LeaseRegistration, registerLease } from "../auth/register-lease.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Env } from "../env.ts";
import { leaseIdOf } from "../lease/record.ts";
import { type GrantedLease, lookupLease, renewLease, revokeLease, type ShownLease } from "../lease/service.ts";
import { UNASKED } from "../system/end-request.ts";
import type { Installation } from "../system/installation.ts";
import type { AuditNotes } from "../wire/audit.ts";
import { type Asked, audited, refusalOf } from "./audited.ts";

const LONGEST_ID = 4096;

/** The calling Worker stands for itself. */
const NO_OBSERVER = { clientAddress: null, token: "" } as const;

/**
 * The leases of secrets that other Workers hand out, over a service binding to the entrypoint `LeaseAuthority`. Apart from
 * `TokenAuthority`, so that a Worker that only checks tokens can't end anything. After any refusal a secret has no lease:
 * revoke it yourself.
 */
export class LeaseAuthority extends WorkerEntrypoint<Env> implements LeaseAuthorityBinding {
  /** Gives a lease on a secret to a token. When either ends, Grove notifies the target to revoke the secret. */
  async register(lease: NewLease): Promise<LeaseAnswer> {
    const registration = readRegistration(lease);
    const { path, accessor, token, target, ttl, maxTtl } = lease;
    const asked = { operation: "create", path: "sys/leases/register", acts: true } as const;
    return this.#answer(
      { ...asked, data: { path, accessor, token, target, ttl, maxTtl } },
      async (installation, notes) =>
        registration.ok ? registerLease(this.env, installation, registration.value, notes) : registration,
    );
  }

  /** The lease with this id, of a secret or of a token. */
  async lookup(leaseId: string): Promise<LeaseAnswer> {
    const asked = { operation: "read", path: "sys/leases/lookup", acts: false } as const;
    return this.#answer({ ...asked, data: { lease_id: leaseId } }, (installation, notes) =>
      onId(leaseId, (id) => lookupLease(this.env, installation, id, notes)),
    );
  }

  /** Renews the lease of a secret. `increment` in seconds; 0 or absent repeats the last grant. */
  async renew(leaseId: string, increment = 0): Promise<LeaseAnswer> {
    const asked = { operation: "update", path: "sys/leases/renew", acts: true } as const;
    return this.#answer({ ...asked, data: { lease_id: leaseId, increment } }, async (installation) => {
      if (!Number.isSafeInteger(increment)) return refuse("increment must be a whole number of seconds");
      return onId(leaseId, (id) => renewLease(this.env, installation, id, increment));
    });
  }

  /** Revokes a lease and waits for its target. That of a token goes with everything below the token. */
  async revoke(leaseId: string): Promise<LeaseRevocation> {
    const asked = { ...NO_OBSERVER, operation: "update", path: "sys/leases/revoke", acts: true } as const;
    const call = { ...asked, data: { lease_id: leaseId } };
    const result = await audited(this.env, this.ctx, call, (installation, notes, request) => {
      const ending = { ...UNASKED, request, path: asked.path };
      return onId(leaseId, (id) =>
        revokeLease(this.env, installation, id, { wait: true, force: false, asked: ending }, notes),
      );
    });
    return result.ok ? { done: true } : { done: false, ...refusalOf(result.error) };
  }

  async #answer(
    asked: Pick<Asked, "acts" | "data" | "operation" | "path">,
    work: (installation: Installation, notes: AuditNotes) => Promise<Result<GrantedLease | ShownLease>>,
  ): Promise<LeaseAnswer> {
    const result = await audited(this.env, this.ctx, { ...NO_OBSERVER, ...asked }, work);
    if (!result.ok) return { done: false, ...refusalOf(result.error) };
    const shown = result.value;
    return { done: true, lease: leaseOf(shown), warnings: "warnings" in shown ? shown.warnings : [] };
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
  return typeof leaseId === "string" && leaseId.length <= LONGEST_ID ? work(leaseId) : refuse("invalid lease");
}

function leaseOf(shown: GrantedLease | ShownLease): Lease {
  if ("token" in shown) {
    const { path, createdAt, expiresAt, renewable } = shown.token;
    return { id: shown.leaseId, path, issuedAt: createdAt, expiresAt, renewable };
  }
  const { path, issuedAt, expiresAt, renewable } = shown.lease;
  return { id: leaseIdOf(shown.lease), path, issuedAt, expiresAt, renewable };
}
