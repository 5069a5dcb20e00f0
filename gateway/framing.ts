import { err, ok, type Result } from "../src/base/result.ts";
import { badRequest, type Refusal } from "./refusal.ts";

/** A header line: the name as sent and in lower case, and the value without blanks around it. */
export interface Header {
  readonly name: string;
  readonly lower: string;
  readonly value: string;
}

/** Where the body of a message ends. */
export type BodyFraming =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

const LENGTH = /^\d{1,15}$/;

export const UNKNOWN_CODING = badRequest("the only transfer coding is chunked");

/** The values of all headers with a name (lower case), in order. */
export function valuesOf(headers: readonly Header[], name: string): string[] {
  const values: string[] = [];
  for (const header of headers) if (header.lower === name) values.push(header.value);
  return values;
}

/**
 * Reads where the body ends. If a message has two lengths, or a length and a transfer coding, two readers may see different
 * ends, and the rest becomes a message that no client sent (request smuggling). So nothing ambiguous is accepted, not even
 * two equal lengths.
 */
export function framingOf(headers: readonly Header[]): Result<BodyFraming, Refusal> {
  const [length, ...lengths] = valuesOf(headers, "content-length");
  const [coding, ...codings] = valuesOf(headers, "transfer-encoding");
  if (coding !== undefined) {
    if (length !== undefined) return err(badRequest("Content-Length and Transfer-Encoding exclude each other"));
    return codings.length > 0 || coding.toLowerCase() !== "chunked" ? err(UNKNOWN_CODING) : ok({ kind: "chunked" });
  }
  if (length === undefined) return ok({ kind: "none" });
  if (lengths.length > 0 || !LENGTH.test(length)) return err(badRequest("malformed Content-Length"));
  return ok({ kind: "length", bytes: Number(length) });
}

/** True when a body of at least one byte is announced. */
export function announcesBody(framing: BodyFraming): boolean {
  return framing.kind === "chunked" || (framing.kind === "length" && framing.bytes > 0);
}
