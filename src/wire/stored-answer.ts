import { storedJson } from "../storage/tables.ts";

/** The path in the cubbyhole of the wrapping token where the answer is kept. */
export const RESPONSE_PATH = "response";

/** A finished answer as it is kept: what the client would have got. */
export interface StoredAnswer {
  readonly status: number;
  /** The envelope as JSON. */
  readonly text: string;
}

/** The answer in the form of a cubbyhole value, where `response` is what clients read. */
export function valueOfAnswer({ status, text }: StoredAnswer): Record<string, unknown> {
  return status === 200 ? { response: text } : { response: text, status };
}

/** The answer of a cubbyhole value. */
export function answerOfValue(value: Readonly<Record<string, unknown>>): StoredAnswer {
  return { text: String(value.response), status: typeof value.status === "number" ? value.status : 200 };
}

/** The accessor of the token that an answer hands out, "" when it hands out none. */
export function accessorInside({ text }: StoredAnswer): string {
  const envelope = storedJson<{ readonly auth?: { readonly accessor?: string } | null }>(text);
  return envelope.auth?.accessor ?? "";
}
