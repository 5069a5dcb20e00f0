import { err, ok, type Result } from "../base/result.ts";
import { toHex } from "../crypto/bytes.ts";

/** The text of a part as it is stored: gzip. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * The text of a part.
 *
 * @param maxBytes of it: a short file can stand for a very long text.
 * @returns what is wrong with it.
 */
export async function decompress(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): Promise<Result<string, string>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader: ReadableStreamDefaultReader<Uint8Array> = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let text = "";
  let size = 0;
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      size += piece.value.byteLength;
      if (size > maxBytes) {
        // Else the rest is decompressed for nothing.
        await reader.cancel();
        return err("it is larger than a part can be");
      }
      text += decoder.decode(piece.value, { stream: true });
    }
    return ok(text + decoder.decode());
  } catch {
    return err("it can't be decompressed");
  }
}

/** SHA-256 of a text, in hex. */
export async function sha256Of(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
