/**
 * Batches in a second, when what comes at random to one of several receivers, or of pairs of a sender and one, waits there for what
 * comes within `seconds` after it.
 */
export function batches(receivers: number, perSecond: number, seconds: number): number {
  const each = perSecond / receivers;
  return receivers * (each / (1 + each * seconds));
}
