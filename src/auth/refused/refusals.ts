import { view } from "../../wire/view.ts";

/** The refused logins of one role by one check. Contains nothing of a credential. */
export interface Refusal {
  /** Name of an existing role; null when the login named none, or one that does not exist. */
  readonly role: string | null;
  /** The check that failed. */
  readonly check: string;
  /** The check in words. */
  readonly description: string;
  /** True when the client had proved its identity: only clients of the issuer or the cloud can cause such refusals. */
  readonly proven: boolean;
  readonly count: number;
  /** ms; so is `lastAt`. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Client address of the last one; null when the proxy in front did not send it. */
  readonly lastAddress: string | null;
}

/** Maximum number of rows of a mount. */
export const MAX_REFUSALS = 50;
/** Minimum time (ms) between two writes of a mount's rows, and between two reports of an isolate about a mount. */
export const INTERVAL_MS = 5_000;

/** Returns the delay (ms) of the next write or report. @param lastAt time (ms) of the last one, or `-Infinity`. */
export function timeToWait(lastAt: number, now: number): number {
  return Math.min(Math.max(lastAt + INTERVAL_MS - now, 0), INTERVAL_MS);
}

/**
 * Adds refusals to the known ones: one row for each role, check and `proven`. Above `MAX_REFUSALS` rows, unproven rows
 * are dropped first, the oldest of them first: a client without a proof can't evict the rows of clients that had one.
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

/** Refused logins, with the names of checks in the vocabulary of their mount. */
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

/** Refused logins in the answer, the most recent first. */
export const REFUSALS_VIEW = view<NamedRefusals>({
  refused: [
    [REFUSAL_VIEW.shape],
    ({ refusals, nameOf }) => {
      const lastFirst = [...refusals].sort((a, b) => b.lastAt - a.lastAt);
      return lastFirst.map((refusal) => REFUSAL_VIEW.show({ ...refusal, check: nameOf(refusal.check) }));
    },
  ],
});
