import type { EndedCheck } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";

/** A lease whose target did not accept its revocation. */
export interface LeaseFailure {
  readonly lease_id: string;
  /** The token that held the lease, if known. */
  readonly accessor?: string;
  /** Contains the host of the target. */
  readonly error: string;
  /** null: the revocation was given up, and the lease is irrevocable. */
  readonly next_attempt: string | null;
}

/** The service that made the secret: the mount in the id of the lease. */
export const serviceOf = (leaseId: string): string => leaseId.slice(0, Math.max(0, leaseId.indexOf("/")));

/** The page of a lease, in the list of its path. */
export const leaseHref = (leaseId: string): string =>
  href(["leases"], { prefix: leaseId.slice(0, leaseId.lastIndexOf("/") + 1), id: leaseId });

/**
 * What the revocation of a lease does.
 *
 * @param target where the revocation of a secret is sent; undefined for the lease of a token.
 */
export const revocationTextOf = (target: string | undefined): string =>
  target === undefined
    ? "This is the lease of a token: the token ends, with everything below it."
    : "The lease ends, and its revocation is sent to its target. The secret can be used until the target accepts that: " +
      "if it does not answer, it is asked again for some minutes; if it refuses, it may be that nothing is sent any more.";

/**
 * What happens next to a failed revocation, and the time to show with it. A time that passed while the page was open is
 * called due: the attempt may not have been made yet.
 */
export function attemptOf(
  { next_attempt: next }: Pick<LeaseFailure, "next_attempt">,
  now: number,
): readonly [text: string, at: string | null] {
  if (next === null) return ["irrevocable: nothing is sent any more", null];
  return Date.parse(next) > now ? ["sent again", next] : ["due to be sent again now", null];
}

/** The mark of a lease or folder in a list. */
export interface FailureMark {
  readonly tag: string;
  /** Why it fails; "" for a folder. */
  readonly error: string;
}

/**
 * The mark of a name in a list; null when no failing lease is known there.
 *
 * @param path the id of a lease, or a folder with its slash
 */
export function failureMark(path: string, failing: readonly LeaseFailure[]): FailureMark | null {
  if (path.endsWith("/")) {
    const { length } = failing.filter(({ lease_id: id }) => id.startsWith(path));
    return length === 0 ? null : { tag: `${counted(length, "lease")} ${length === 1 ? "fails" : "fail"}`, error: "" };
  }
  const found = failing.find(({ lease_id: id }) => id === path);
  if (!found) return null;
  return { tag: found.next_attempt === null ? "irrevocable" : "fails, tried again", error: found.error };
}

type LeasesLeft = Omit<EndedCheck["unrevoked_leases"], "failures">;

/** The leases of ended tokens that are not revoked yet, as a text after a count of tokens; "" without any. */
export const leasesLeftText = ({ removed, ...left }: LeasesLeft): string =>
  [notEndedText(left), forcedText(removed)].filter((text) => text !== "").join(", and ");

function notEndedText({ waiting, failing, more }: Omit<LeasesLeft, "removed">): string {
  const left = waiting + failing;
  if (left === 0 && !more) return "";
  const number = more ? "some" : count(left);
  const which = `${number} of their leases ${left === 1 && !more ? "has" : "have"} not ended`;
  return failing === 0
    ? which
    : `${which}: ${failing === left ? "" : `${count(failing)} of them `}not accepted by their targets`;
}

const forcedText = (removed: number): string =>
  removed === 0
    ? ""
    : `${count(removed)} of their leases ${removed === 1 ? "was" : "were"} removed by force, without an answer of the target`;

/** When a held lease ends: its token takes it along, unless that is renewed or never ends (null). */
export const heldUntil = (lease: string, token: string | null): string =>
  token !== null && Date.parse(token) < Date.parse(lease) ? token : lease;
