import type { Shape } from "../../wire/shape.ts";

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

/** The shape of a list of refused logins. */
export const REFUSALS_SHAPE = {
  refused: [
    {
      role: "string | null",
      check: "string",
      description: "string",
      count: "integer",
      first_time: "string",
      last_time: "string",
      last_address: "string | null",
    },
  ],
} as const satisfies Shape;

/** The last refused first. Times in RFC 3339. @param nameOf a check as the clients of the mount call it. */
export function renderRefusals(
  refusals: readonly Refusal[],
  nameOf: (check: string) => string,
): Record<string, unknown> {
  const lastFirst = [...refusals].sort((a, b) => b.lastAt - a.lastAt);
  return {
    refused: lastFirst.map(({ role, check, description, count, firstAt, lastAt, lastAddress }) => ({
      role,
      check: nameOf(check),
      description,
      count,
      first_time: new Date(firstAt).toISOString(),
      last_time: new Date(lastAt).toISOString(),
      last_address: lastAddress,
    })),
  };
}
