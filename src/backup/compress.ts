import { err, ok, type Result } from "../base/result.ts";
import { toHex } from "../crypto/bytes.ts";

/** Compresses the text of a part with gzip. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Decompresses a part to at most `maxBytes`: a short file can expand to a very long text. The error is the problem. */
export async function decompress(bytes: Uint8Array<ArrayBuffer>, maxBytes: number): Promise<Result<string, string>> {
  const stream: ReadableStream<Uint8Array> = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let text = "";
  let size = 0;
  try {
    // The return from the loop cancels the stream.
    for await (const piece of stream) {
      size += piece.byteLength;
      if (size > maxBytes) return err("it is larger than a part can be");
      text += decoder.decode(piece, { stream: true });
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
