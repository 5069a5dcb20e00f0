/** The time in ms since 1970. The only place that reads the clock: rules take `now` as an argument. */
export function currentTime(): number {
  return Date.now();
}
