import { Buffer } from "node:buffer";
import { fromUtf8 } from "./bytes.ts";

/** Base64 in either alphabet, with or without padding. Shorter runs are words and ids. */
const RUN = /[\w+/-]{40,}={0,2}/g;
/** Most runs of one text that are decoded. */
const MAX_RUNS = 1_000;
/** Control characters but tabs and line ends: a file of text has none. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const BINARY = /[\x00-\x08\x0e-\x1f\x7f]/;

/** The texts that base64 in a text decodes to, such as the data of a Kubernetes Secret; nothing of binary data. */
export function base64TextsIn(text: string): string[] {
  return (text.match(RUN) ?? []).slice(0, MAX_RUNS).flatMap((run) => decodedText(run) ?? []);
}

/** The text that all of `base64` decodes to; null for another text, and for binary data. */
export function decodedText(base64: string): string | null {
  if (!/^[\w+/-]{16,}={0,2}$/.test(base64)) return null;
  const text = fromUtf8(Buffer.from(base64, "base64"));
  return text === null || text === "" || BINARY.test(text) ? null : text;
}
