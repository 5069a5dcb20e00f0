import type { Readable } from "node:stream";

/** Thrown when an input has no text that can be searched: that nothing was found in it would prove nothing. */
export class InputCompressed extends Error {
  constructor() {
    super("this is a compressed file: unpack it, and give what is in it");
  }
}

/** How compressed files begin: gzip, zip, zstd, xz, bzip2 (null: any byte). */
const COMPRESSED: readonly (readonly (number | null)[])[] = [
  [0x1f, 0x8b],
  [0x50, 0x4b, 0x03, 0x04],
  [0x28, 0xb5, 0x2f, 0xfd],
  [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00],
  [0x42, 0x5a, 0x68, null, 0x31, 0x41],
];

/** Enough bytes to see how an input begins. */
const BEGINNING = 6;

/**
 * The text of an input, piece by piece: UTF-8, or UTF-16, as PowerShell redirects and Windows saves it.
 *
 * @throws InputCompressed
 */
export async function* textOf(input: Readable | AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | null = null;
  let beginning = Buffer.alloc(0);
  for await (const piece of input) {
    const bytes = Buffer.from(piece);
    if (decoder) {
      yield decoder.decode(bytes, { stream: true });
      continue;
    }
    beginning = Buffer.concat([beginning, bytes]);
    if (beginning.length < BEGINNING) continue;
    decoder = decoderFor(beginning);
    yield decoder.decode(beginning, { stream: true });
  }
  yield decoder ? decoder.decode() : decoderFor(beginning).decode(beginning);
}

/** @throws InputCompressed */
function decoderFor(beginning: Buffer): TextDecoder {
  if (COMPRESSED.some((form) => form.every((byte, at) => byte === null || beginning[at] === byte)))
    throw new InputCompressed();
  return new TextDecoder(encodingOf(beginning));
}

/** Without a byte order mark the zeros tell: the first characters of a log, a file of settings or a token are ASCII. */
function encodingOf([first, second, third, fourth]: Buffer): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  if (first && second === 0 && third && fourth === 0) return "utf-16le";
  if (first === 0 && second && third === 0 && fourth) return "utf-16be";
  return "utf-8";
}
