import type { Operation } from "../policy/operation.ts";
import type { FieldSchema } from "../wire/field-schema.ts";
import type { Shape } from "../wire/view.ts";

/**
 * Documentation of an endpoint, from which the OpenAPI document, `path-help` and docs/api.md are generated. No
 * behaviour depends on it.
 */
export interface RouteDescription {
  /** One line: what the endpoint does. */
  readonly summary: string;
  /** Its name in generated clients, in kebab case: the reference's if it has the endpoint. By operation if several. */
  readonly operationId: string | Readonly<Partial<Record<Operation, string>>>;
  /** Descriptions of the path parameters. A parameter that is also a field is described at the field. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Fields that the schema of the endpoint does not list. For JSON:API: the query, or the attributes of a write. */
  readonly fields?: Readonly<Record<string, FieldDescription>>;
  /** Names of the fields that a write takes from its query. */
  readonly queryOfWrite?: readonly string[];
  /** The answers to a request that succeeds: one, or one for each status. By operation where these differ. */
  readonly answers:
    | AnswerDescription
    | readonly AnswerDescription[]
    | Readonly<Partial<Record<Operation, AnswerDescription | readonly AnswerDescription[]>>>;
}

interface FieldDescription {
  readonly shape: Shape;
  readonly description: string;
}

/** An answer to a request that succeeds. */
export type AnswerDescription =
  /** 204 without a body. */
  | { readonly kind: "empty" }
  /** 202 without a body. */
  | { readonly kind: "accepted" }
  /** 200, the envelope with these data. `injected`: the keys of the data are at the top level as well. */
  | { readonly kind: "data"; readonly data: Shape; readonly injected?: boolean }
  | { readonly kind: "auth" }
  | { readonly kind: "wrapped" }
  /** The envelope, whose data are not described. `status` is 200 unless given. */
  | { readonly kind: "envelope"; readonly status?: number }
  /** A body of its own, without the envelope. */
  | { readonly kind: "plain"; readonly status: number; readonly body: Shape; readonly mediaType?: string };

/** 204. */
export const NO_CONTENT: AnswerDescription = { kind: "empty" };
/** 202: the server continues the operation after the answer. */
export const ACCEPTED: AnswerDescription = { kind: "accepted" };
/** A token that was issued or renewed. */
export const AUTH: AnswerDescription = { kind: "auth" };
/** The envelope without data. */
export const ENVELOPE: AnswerDescription = { kind: "envelope" };
/** 202: the operation was started; the warnings say so. */
export const BEGUN: AnswerDescription = { kind: "envelope", status: 202 };
/** 204, or an envelope with warnings of the reference (`warnedReply`). */
export const DONE_OR_WARNED: readonly AnswerDescription[] = [NO_CONTENT, ENVELOPE];
export const KEYS: AnswerDescription = { kind: "data", data: { keys: ["string"] } };

/** Data in the envelope. */
export function dataAnswer(shape: Shape): AnswerDescription {
  return { kind: "data", data: shape };
}

/** Data in the envelope, with their keys at the top level as well. */
export function injectedAnswer(shape: Shape): AnswerDescription {
  return { kind: "data", data: shape, injected: true };
}

/** A body without the envelope. */
export function plainAnswer(body: Shape, status = 200): AnswerDescription {
  return { kind: "plain", status, body };
}

/** Returns the descriptions of the fields of a schema, for a route that does not read its input with that schema. */
export function describeFields({ entries }: FieldSchema<unknown>): Readonly<Record<string, FieldDescription>> {
  return Object.fromEntries(entries.map(([name, { kind, description }]) => [name, { shape: kind.shape, description }]));
}
