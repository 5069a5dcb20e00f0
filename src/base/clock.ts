/** The time in ms since 1970. The only place that reads the clock: rules take `now` as an argument. */
export function currentTime(): number {
  return Date.now();
}

/** True less than `ms` after `since` (ms). False also when the clock went back: how long ago it was is not known then. */
export function isWithin(since: number, ms: number, now: number): boolean {
  return now >= since && now - since < ms;
}
