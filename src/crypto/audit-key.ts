import { type Keys, keyedHash } from "./key-ring.ts";

type AuditKey = Pick<Keys, "audit">;

const UTF_8 = new TextEncoder();
/** The text whose hash is the key of mentions. */
const MENTIONS = "grove audit mentions";
/** No text has this byte in UTF-8. */
const NO_TEXT = Uint8Array.of(0xff);

/** The key of the index of the audit store, by which its storage does not show what a record mentions. A secret. */
export function keyOfMentions({ audit }: AuditKey): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(audit, UTF_8.encode(MENTIONS));
}

/**
 * The hash of a text for the log. Anybody can send a text that is logged, so no text has the hash that is the key of
 * mentions.
 */
export function hashForLog({ audit }: AuditKey, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = UTF_8.encode(text);
  return text === MENTIONS ? keyedHash(audit, bytes, NO_TEXT) : keyedHash(audit, bytes);
}
