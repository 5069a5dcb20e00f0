import type { Route } from "../../auth/route.ts";
import type { Answer } from "../../auth/route-description.ts";
import type { GroveRequest } from "../../wire/request.ts";
import type { Shape } from "../../wire/shape.ts";
import { isList, type JsonSchema, schemaOf } from "./json-schema.ts";

type Dialect = GroveRequest["dialect"];

/** The media type of bodies. */
export const MEDIA_TYPES: Readonly<Record<Dialect, string>> = {
  vault: "application/json",
  "json-api": "application/vnd.api+json",
};

const WRAP_INFO: Shape = {
  token: "string",
  accessor: "string",
  ttl: "integer",
  creation_time: "string",
  creation_path: "string",
  "wrapped_accessor?": "string",
};

const AUTH: Shape = {
  client_token: "string",
  accessor: "string",
  policies: ["string"],
  "token_policies?": ["string"],
  "identity_policies?": ["string"],
  metadata: "object | null",
  lease_duration: "integer",
  renewable: "boolean",
  entity_id: "string",
  token_type: "string",
  orphan: "boolean",
  mfa_requirement: "object | null",
  num_uses: "integer",
};

/** What all answers in the envelope have. */
const ENVELOPE: Shape = {
  request_id: "string",
  lease_id: "string",
  renewable: "boolean",
  lease_duration: "integer",
};

const ERROR: Shape = {
  status: "string",
  title: "string",
  detail: "string",
  "source?": { "pointer?": "string", "parameter?": "string" },
};

/** The bodies that answers have in common. */
export const SCHEMA_COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  Envelope: withProperties(schemaOf(ENVELOPE), {
    wrap_info: { ...schemaOf(WRAP_INFO), nullable: true },
    warnings: { type: "array", items: { type: "string" }, nullable: true },
  }),
  Auth: schemaOf(AUTH),
  WrapInfo: schemaOf(WRAP_INFO),
  Errors: schemaOf({ errors: ["string"] }),
  TeamsErrors: schemaOf({ errors: [ERROR] }),
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

/** The refusals that operations refer to. */
export const RESPONSE_COMPONENTS: JsonSchema = Object.fromEntries(
  Object.entries(REFUSALS).flatMap(([status, description]) => [
    [refusalName("vault", status), { description, content: content(MEDIA_TYPES.vault, reference("Errors")) }],
    [
      refusalName("json-api", status),
      { description, content: content(MEDIA_TYPES["json-api"], reference("TeamsErrors")) },
    ],
  ]),
);

const SUCCESSES: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Made.",
  202: "Begun; it goes on by itself.",
  204: "Done; the answer has no body.",
};

/** The responses of one operation: what it answers when it succeeds, and its refusals. */
export function responsesOf(route: Route, answers: readonly Answer[], dialect: Dialect): JsonSchema {
  const statuses = [...new Set(answers.map(statusOf))];
  const successes = statuses.map((status) => {
    const described = answers.filter((answer) => statusOf(answer) === status);
    const mediaType = described.map((answer) => answer.kind === "plain" && answer.mediaType).find(Boolean);
    const schemas = described.map((answer) => bodyOf(answer, route)).filter((schema) => schema !== null);
    const [only = {}] = schemas;
    const body = schemas.length > 1 ? { anyOf: schemas } : only;
    return [
      String(status),
      {
        description: SUCCESSES[status] ?? "By its status.",
        ...(schemas.length > 0 && { content: content(mediaType || MEDIA_TYPES[dialect], body) }),
      },
    ];
  });
  const refusals = refusalsOf(route, dialect)
    .filter((status) => !statuses.includes(Number(status)))
    .map((status) => [status, { $ref: `#/components/responses/${refusalName(dialect, status)}` }]);
  return Object.fromEntries([...successes, ...refusals]);
}

function refusalsOf(route: Route, dialect: Dialect): string[] {
  const teams = dialect === "json-api";
  const byToken = route.access === "token";
  return [
    "400",
    ...(teams && byToken ? ["401"] : []),
    ...(byToken ? ["403"] : []),
    ...(byToken || teams ? ["404"] : []),
    ...(teams && route.operations.some((operation) => operation === "update" || operation === "patch") ? ["422"] : []),
    ...(route.access === "open" ? [] : ["429", "503"]),
    "default",
  ];
}

function refusalName(dialect: Dialect, status: string): string {
  return `${dialect === "vault" ? "" : "Teams"}${status === "default" ? "Refusal" : `Refusal${status}`}`;
}

function statusOf(answer: Answer): number {
  if (answer.kind === "empty") return 204;
  if (answer.kind === "accepted") return 202;
  return "status" in answer ? (answer.status ?? 200) : 200;
}

/** null for an answer without a body. */
function bodyOf(answer: Answer, { fieldName }: Route): JsonSchema | null {
  switch (answer.kind) {
    case "empty":
    case "accepted":
      return null;
    case "data": {
      const data = schemaOf(fieldName ? renamed(answer.data, fieldName) : answer.data);
      return enveloped({ data }, answer.injected ? besideEnvelope(data) : null);
    }
    case "auth":
      return enveloped({ auth: reference("Auth") }, null);
    case "wrapped":
      return enveloped({ wrap_info: reference("WrapInfo") }, null);
    case "envelope":
      return enveloped({ data: {} }, null);
    case "plain":
      return schemaOf(answer.body);
  }
}

/** A shape of data with the names that a mount of its type has for them. */
function renamed(shape: Shape, fieldName: (name: string) => string): Shape {
  if (typeof shape !== "object" || isList(shape)) return shape;
  return Object.fromEntries(
    Object.entries(shape).map(([name, value]) => {
      const bare = name.replace(/\?$/, "");
      return [fieldName(bare) + name.slice(bare.length), value];
    }),
  );
}

/** Data that stand beside the envelope as well. What any name may hold there does not hold for the envelope's own. */
function besideEnvelope(data: JsonSchema): JsonSchema {
  const { additionalProperties: _, ...named } = data;
  return named;
}

function enveloped(properties: Readonly<Record<string, JsonSchema>>, beside: JsonSchema | null): JsonSchema {
  const own = { type: "object", properties, required: Object.keys(properties) };
  return { allOf: [reference("Envelope"), own, ...(beside ? [beside] : [])] };
}

function withProperties(schema: JsonSchema, more: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema;
  return { ...rest, properties: { ...properties, ...more }, required: [...required, ...Object.keys(more)] };
}

function reference(schema: string): JsonSchema {
  return { $ref: `#/components/schemas/${schema}` };
}

function content(mediaType: string, schema: JsonSchema): JsonSchema {
  return { [mediaType]: { schema } };
}
