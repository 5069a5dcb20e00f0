import { fromBase64 } from "../../crypto/bytes.ts";

/**
 * Bytes of padded base64, or null. Line breaks are allowed, since the tools that print these values wrap lines; any
 * other second spelling of the same bytes is not read.
 */
export function fromWrappedBase64(text: string): Uint8Array<ArrayBuffer> | null {
  return fromBase64(text.replace(/[\r\n]/g, ""));
}

/** Text of UTF-8, or null when the bytes are malformed or start with a byte order mark. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.startsWith("\uFEFF") ? null : text;
  } catch {
    return null;
  }
}

/** Text of base64 of UTF-8, or null when either layer is malformed. */
export function fromBase64Text(text: string): string | null {
  const bytes = fromWrappedBase64(text);
  return bytes && fromUtf8(bytes);
}
