/** Shorter ones can be parts of memory that Node shares out, and are not worth it. */
const MIN_BYTES = 16 * 1024;

/**
 * Gives the memory of received bytes back at once, if it has nothing else in it. The collector is slow to: it hears late of memory
 * outside of its heap, and 32 MiB can wait for it. Nobody may use the bytes any more, nor a part of them.
 */
export function freeReceived(bytes: Buffer): void {
  const { buffer } = bytes;
  if (bytes.length >= MIN_BYTES && bytes.length === buffer.byteLength && buffer instanceof ArrayBuffer)
    buffer.transfer(0);
}
