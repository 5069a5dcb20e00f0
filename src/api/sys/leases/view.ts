import { formatRfc3339, formatTime } from "../../../base/rfc3339.ts";
import { type LeaseView, leaseIdOf } from "../../../lease/record.ts";
import type { ShownLease } from "../../../lease/service.ts";
import type { LeaseReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";

/** A lease of either kind. Times in ms. */
interface LeaseFacts extends Pick<LeaseView, "path" | "renewable" | "renewedAt" | "error"> {
  readonly id: string;
  readonly issuedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
  readonly now: number;
}

/** What a look-up shows of a lease. */
export const LEASE_VIEW = view<LeaseFacts>({
  id: ["string", (lease) => lease.id],
  path: ["string", (lease) => lease.path],
  renewable: ["boolean", (lease) => lease.renewable && lease.error === null],
  issue_time: ["string", (lease) => formatRfc3339(lease.issuedAt)],
  expire_time: ["string | null", (lease) => formatTime(lease.expiresAt)],
  last_renewal: ["string | null", (lease) => formatTime(lease.renewedAt)],
  ttl: [
    "integer",
    ({ expiresAt, now }) => (expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000))),
  ],
  "revoke_error?": ["string", (lease) => lease.error ?? undefined],
});

/** The lease of a token or of a secret. `now` in ms. */
export function leaseFacts(shown: ShownLease, now: number): LeaseFacts {
  if (shown.kind === "secret") return { ...shown.lease, id: leaseIdOf(shown.lease), now };
  const { path, renewable, createdAt, expiresAt, renewedAt } = shown.token;
  return { id: shown.leaseId, path, renewable, issuedAt: createdAt, expiresAt, renewedAt, error: null, now };
}

/** The lease in the answer to its registration or renewal. */
export function leaseReply(lease: LeaseView): LeaseReply {
  return { id: leaseIdOf(lease), renewable: lease.renewable, duration: lease.grantedTtl };
}
