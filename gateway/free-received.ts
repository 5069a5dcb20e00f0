/** Shorter ones can be parts of memory that Node shares out, and are not worth it. */
const MIN_BYTES = 16 * 1024;

/**
 * Gives the memory of received bytes back at once. The collector is slow to: it hears late of memory outside of its heap, and 32 MiB
 * can wait for it. Does nothing when other bytes follow in the same memory. Those before them have to be used up, as they are where the
 * messages of a connection are read one after the other; nobody may use the bytes themselves any more.
 */
export function freeReceived(bytes: Buffer): void {
  const { buffer, byteOffset, length } = bytes;
  if (length < MIN_BYTES || byteOffset + length !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
