/** Most calls of one group that are under way at the same time. */
const FULL_WIDTH = 4;
/** So long (ms) after a refusal nothing of it is remembered. */
const REMEMBERED_MS = 60_000;

/** How many calls of a group may be under way: fewer after the cloud refused one because it is overloaded. */
export interface CallWidth {
  readonly calls: number;
  /** Refusals so far. A call that began before the last of them says nothing about the time after it. */
  readonly refusals: number;
  /** When the cloud last refused (ms); -Infinity for never. */
  readonly refusedAt: number;
}

/** The width of a group that was never refused. */
export const UNREFUSED: CallWidth = { calls: FULL_WIDTH, refusals: 0, refusedAt: Number.NEGATIVE_INFINITY };

/** After the cloud refused a call for overload at `now` (ms): one call at a time. */
export function afterRefusal(width: CallWidth, now: number): CallWidth {
  return { calls: 1, refusals: width.refusals + 1, refusedAt: now };
}

/** After the cloud answered a call: one more, if the call began after the last refusal. @param refusals known when it began. */
export function afterAnswer(width: CallWidth, refusals: number): CallWidth {
  if (refusals !== width.refusals) return width;
  return { ...width, calls: Math.min(FULL_WIDTH, width.calls + 1) };
}

/** True when the width is full: nothing about it has to be remembered. `now` in ms. */
export function isFull(width: CallWidth, now: number): boolean {
  return width.calls === FULL_WIDTH || now - width.refusedAt >= REMEMBERED_MS;
}

/**
 * Whether a further call may begin. One that is alone may always; one beside others only with as many items as a call takes:
 * the items would otherwise have gone together with the next call, and it costs the cloud nothing that they wait for it.
 *
 * @param underWay calls that are under way.
 * @param waiting items that wait, each counted once.
 * @param maxItems most items of a call.
 * @param now ms.
 */
export function mayBegin(width: CallWidth, underWay: number, waiting: number, maxItems: number, now: number): boolean {
  if (waiting === 0 || underWay === 0) return waiting > 0;
  return waiting >= maxItems && underWay < (isFull(width, now) ? FULL_WIDTH : width.calls);
}
