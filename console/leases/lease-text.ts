import { href } from "../href.ts";

/** The fields of a lease whose target did not accept the revocation. */
interface FailedLease {
  readonly lease_id: string;
  /** null: the revocation was given up, and the lease is irrevocable. */
  readonly next_attempt: string | null;
}

/** The service that made the secret: the mount in the id of the lease. */
export const serviceOf = (leaseId: string): string => leaseId.slice(0, Math.max(0, leaseId.indexOf("/")));

/** The page of a lease, in the list of its path. */
export const leaseHref = (leaseId: string): string =>
  href(["leases"], { prefix: leaseId.slice(0, leaseId.lastIndexOf("/") + 1), id: leaseId });

/**
 * `sent again`, and the time to show with it. A time that passed while the page was open is due, and not shown as past.
 */
export function attemptOf(
  { next_attempt: next }: FailedLease,
  now: number,
): readonly [text: string, at: string | null] {
  if (next === null) return ["irrevocable: nothing is sent any more", null];
  return Date.parse(next) > now ? ["sent again", next] : ["due to be sent again now", null];
}

/** The leases of ended tokens that are not revoked yet, as a text after a count of tokens; "" without any. */
export function leasesLeftText({
  waiting,
  failing,
  more,
}: {
  readonly waiting: number;
  readonly failing: number;
  readonly more: boolean;
}): string {
  const left = waiting + failing;
  if (left === 0 && !more) return "";
  const number = more ? "some" : left.toLocaleString("en");
  const which = `${number} of their leases ${left === 1 && !more ? "has" : "have"} not ended`;
  return failing === 0
    ? which
    : `${which}: ${failing === left ? "" : `${failing.toLocaleString("en")} of them `}not accepted by their targets`;
}
