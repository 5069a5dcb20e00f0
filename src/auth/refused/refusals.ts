import { view } from "../../wire/view.ts";

/** Refused logins of one role by one check. Nothing of a credential is in it. */
export interface Refusal {
  /** A role that exists; null where the login named none of these. */
  readonly role: string | null;
  /** The check that failed. */
  readonly check: string;
  /** The check in words. */
  readonly description: string;
  /** True when the client had proved who it is: only clients of the issuer or the cloud can cause these. */
  readonly proven: boolean;
  readonly count: number;
  /** ms; so is `lastAt`. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Of the last one; null when the proxy in front did not send it. */
  readonly lastAddress: string | null;
}

/** Most rows of a mount. */
export const MAX_REFUSALS = 50;
/** Shortest time between two writes of the rows of a mount, and between two calls of an isolate that report refusals of it. */
export const INTERVAL_MS = 5_000;

/** How long the next write or report has to wait (ms). @param lastAt of the one before (ms), `-Infinity` for none. */
export function timeToWait(lastAt: number, now: number): number {
  return Math.min(Math.max(lastAt + INTERVAL_MS - now, 0), INTERVAL_MS);
}

/**
 * Adds refusals to those that are known: one row for each role and check. Of too many rows those go whose client had proved nothing, and
 * of these the oldest: a stranger can't drive out what clients with a good proof left.
 */
export function withRefusals(known: readonly Refusal[], more: readonly Refusal[]): readonly Refusal[] {
  const rows = new Map<string, Refusal>();
  for (const one of [...known, ...more]) {
    const key = JSON.stringify([one.role, one.check, one.proven]);
    rows.set(key, joined(rows.get(key), one));
  }
  const byWorth = [...rows.values()].sort((a, b) => Number(b.proven) - Number(a.proven) || b.lastAt - a.lastAt);
  return byWorth.slice(0, MAX_REFUSALS);
}

function joined(before: Refusal | undefined, one: Refusal): Refusal {
  if (!before) return one;
  const last = one.lastAt >= before.lastAt ? one : before;
  return { ...last, count: before.count + one.count, firstAt: Math.min(before.firstAt, one.firstAt) };
}

/** Refused logins as clients of their mount know the checks. */
interface NamedRefusals {
  readonly refusals: readonly Refusal[];
  readonly nameOf: (check: string) => string;
}

const REFUSAL_VIEW = view<Refusal>({
  role: ["string | null", (refusal) => refusal.role],
  check: ["string", (refusal) => refusal.check],
  description: ["string", (refusal) => refusal.description],
  count: ["integer", (refusal) => refusal.count],
  first_time: ["string", (refusal) => new Date(refusal.firstAt).toISOString()],
  last_time: ["string", (refusal) => new Date(refusal.lastAt).toISOString()],
  last_address: ["string | null", (refusal) => refusal.lastAddress],
});

/** A list of refused logins, the last first. */
export const REFUSALS_VIEW = view<NamedRefusals>({
  refused: [
    [REFUSAL_VIEW.shape],
    ({ refusals, nameOf }) => {
      const lastFirst = [...refusals].sort((a, b) => b.lastAt - a.lastAt);
      return lastFirst.map((refusal) => REFUSAL_VIEW.show({ ...refusal, check: nameOf(refusal.check) }));
    },
  ],
});
