import type { Route } from "../../auth/route.ts";
import type { AnswerDescription } from "../../auth/route-description.ts";
import type { Dialect } from "../../wire/dialect.ts";
import { AUTH_VIEW, VAULT, WRAP_INFO_VIEW } from "../../wire/envelope.ts";
import { isList, isOneOf, isOrNull, type Shape } from "../../wire/view.ts";
import { KINDS } from "../registry.ts";

/** A schema of OpenAPI 3.0: JSON Schema with `nullable`. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export function schemaOf(shape: Shape): JsonSchema {
  if (typeof shape === "string") {
    const [type, nullable] = shape.split(" | ");
    return type === "any" ? {} : { type, ...(nullable && { nullable: true }) };
  }
  if (isOrNull(shape)) return { ...schemaOf(shape[1]), nullable: true };
  if (isOneOf(shape)) return { type: "string", enum: shape.slice(1) };
  if (isList(shape)) return { type: "array", items: schemaOf(shape[0]), ...(shape.length > 1 && { nullable: true }) };
  const { "*": others, ...named } = shape;
  const properties = Object.entries(named).map(([name, value]) => [name.replace(/\?$/, ""), schemaOf(value)]);
  const required = Object.keys(named).filter((name) => !name.endsWith("?"));
  return {
    type: "object",
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required }),
    ...(others && { additionalProperties: schemaOf(others) }),
  };
}

/** Every dialect of the interface. */
const DIALECTS: ReadonlySet<Dialect> = new Set([
  VAULT,
  ...KINDS.credentials.flatMap(({ apis }) => apis.map(({ dialect }) => dialect)),
]);

const WRAP_INFO = schemaOf(WRAP_INFO_VIEW.shape);

const ENVELOPE = {
  request_id: { type: "string" },
  lease_id: { type: "string" },
  renewable: { type: "boolean" },
  lease_duration: { type: "integer" },
  wrap_info: { ...WRAP_INFO, nullable: true },
  warnings: schemaOf(["string", null]),
};

/** Schemas that the answers refer to. */
export const SCHEMA_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Envelope: { type: "object", properties: ENVELOPE, required: Object.keys(ENVELOPE) },
  Auth: schemaOf(AUTH_VIEW.shape),
  WrapInfo: WRAP_INFO,
  ...Object.fromEntries(
    [...DIALECTS].map(({ described }) => [`${described.prefix}Errors`, schemaOf(described.refusal)]),
  ),
};

const REFUSALS: Readonly<Record<string, string>> = {
  "400": "The request is wrong in itself.",
  "401": "The token is missing, unknown or expired.",
  "403": "The token is not good, or its policies do not allow the request.",
  "404": "Nothing is there.",
  "422": "An attribute can't be taken.",
  "429": "There are too many requests.",
  "503": "Grove is sealed or not initialized, or something that the request needs does not answer now.",
  default: "Any other refusal, by its status.",
};

/** Refusals that the operations refer to. */
export const RESPONSE_COMPONENTS: JsonSchema = Object.fromEntries(
  Object.entries(REFUSALS).flatMap(([status, description]) =>
    [...DIALECTS].map((dialect) => {
      const { mediaType, prefix } = dialect.described;
      const schema = reference(`${prefix}Errors`);
      return [refusalName(dialect, status), { description, content: { [mediaType]: { schema } } }];
    }),
  ),
);

const SUCCESSES: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Made.",
  202: "Begun; it goes on by itself.",
  204: "Done; the answer has no body.",
};

/** Returns the responses of one operation: its successes and its refusals. */
export function responsesOf(route: Route, answers: readonly AnswerDescription[], dialect: Dialect): JsonSchema {
  const statuses = [...new Set(answers.map(statusOf))];
  const successes = statuses.map((status) => {
    const described = answers.filter((answer) => statusOf(answer) === status);
    const mediaType = described.map((answer) => answer.kind === "plain" && answer.mediaType).find(Boolean);
    const schemas = described.map((answer) => bodyOf(answer, route)).filter((schema) => schema !== null);
    const schema = schemas.length > 1 ? { anyOf: schemas } : schemas[0];
    const content = schema && { content: { [mediaType || dialect.described.mediaType]: { schema } } };
    return [String(status), { description: SUCCESSES[status] ?? "By its status.", ...content }];
  });
  const refusals = refusalsOf(route, dialect)
    .filter((status) => !statuses.includes(Number(status)))
    .map((status) => [status, { $ref: `#/components/responses/${refusalName(dialect, status)}` }]);
  return Object.fromEntries([...successes, ...refusals]);
}

function refusalsOf(route: Route, { described }: Dialect): string[] {
  const { all, withToken, writes } = described.statuses;
  const isWrite = route.operations.some((operation) => operation === "update" || operation === "patch");
  return [
    ...all,
    ...(route.access === "token" ? withToken : []),
    ...(isWrite ? writes : []),
    ...(route.access === "open" ? [] : ["429", "503"]),
    "default",
  ];
}

function refusalName({ described }: Dialect, status: string): string {
  return `${described.prefix}${status === "default" ? "Refusal" : `Refusal${status}`}`;
}

function statusOf(answer: AnswerDescription): number {
  if (answer.kind === "empty") return 204;
  if (answer.kind === "accepted") return 202;
  return "status" in answer ? (answer.status ?? 200) : 200;
}

function bodyOf(answer: AnswerDescription, { fieldName }: Route): JsonSchema | null {
  switch (answer.kind) {
    case "empty":
    case "accepted":
      return null;
    case "data": {
      const data = schemaOf(fieldName ? renamed(answer.data, fieldName) : answer.data);
      // Injected keys are also at the top level, where `additionalProperties` would apply to the keys of the envelope.
      const { additionalProperties: _, ...injected } = data;
      return enveloped({ data }, answer.injected ? [injected] : []);
    }
    case "auth":
      return enveloped({ auth: reference("Auth") });
    case "wrapped":
      return enveloped({ wrap_info: reference("WrapInfo") });
    case "envelope":
      return enveloped({ data: {} });
    case "plain":
      return schemaOf(answer.body);
  }
}

function renamed(shape: Shape, fieldName: (name: string) => string): Shape {
  if (typeof shape !== "object" || isList(shape) || isOrNull(shape) || isOneOf(shape)) return shape;
  const entries = Object.entries(shape).map(([name, value]) => {
    const bare = name.replace(/\?$/, "");
    return [fieldName(bare) + name.slice(bare.length), value];
  });
  return Object.fromEntries(entries);
}

function enveloped(properties: JsonSchema, injected: readonly JsonSchema[] = []): JsonSchema {
  const own = { type: "object", properties, required: Object.keys(properties) };
  return { allOf: [reference("Envelope"), own, ...injected] };
}

function reference(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` };
}
