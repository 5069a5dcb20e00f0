/** The part of an OpenAPI document that the types are made from. */
export interface AnsweringDocument {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<"get" | "post", Operation>>>>>;
}

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>;
}

/** Answers that the console and the command read, by name: an operation, which of its answers where it has several, and the field of whose items it is. */
const ANSWERS: Readonly<Record<string, readonly [method: "get" | "post", path: string, at?: number, items?: string]>> =
  {
    AuthMounts: ["get", "/sys/auth"],
    ShownMounts: ["get", "/sys/internal/ui/mounts"],
    Self: ["get", "/auth/token/lookup-self"],
    Health: ["get", "/sys/health"],
    Doctor: ["get", "/sys/doctor"],
    MetricsHistory: ["get", "/sys/metrics/history"],
    KeyStatus: ["get", "/sys/key-status"],
    Quota: ["get", "/sys/quotas/rate-limit/{name}"],
    TidyStatus: ["get", "/auth/token/tidy-status"],
    TokenCounters: ["get", "/sys/internal/counters/tokens"],
    WatermarkRevocations: ["get", "/sys/leases/revocations"],
    IrrevocableLeases: ["get", "/sys/leases"],
    Lease: ["post", "/sys/leases/lookup"],
    StoredPolicy: ["get", "/sys/policies/acl/{name}"],
    PolicyUsage: ["get", "/sys/policies/usage/acl/{name}"],
    PolicyVersions: ["get", "/sys/policies/versions/acl/{name}", 0],
    PolicyVersion: ["get", "/sys/policies/versions/acl/{name}", 1],
    Explanation: ["post", "/sys/explain/access"],
    PolicyExplanation: ["post", "/sys/explain/policy"],
    RulesOfToken: ["post", "/sys/explain/rules"],
    LoginExplanation: ["post", "/auth/aws/explain/login"],
    RefusedLogins: ["get", "/auth/jwt/explain/refused"],
    RoleTag: ["post", "/auth/aws/role/{role}/tag"],
    Entity: ["get", "/identity/entity/id/{id}"],
    EntityList: ["get", "/identity/entity/id"],
    EntityNames: ["post", "/identity/lookup/entities"],
    Group: ["get", "/identity/group/id/{id}"],
    TokenPage: ["get", "/sys/tokens"],
    TokenDetail: ["get", "/sys/tokens/{accessor}", 0],
    EndedToken: ["get", "/sys/tokens/{accessor}", 1],
    Token: ["get", "/sys/tokens", 0, "tokens"],
    FoundText: ["post", "/sys/tokens/find"],
    TokenSummary: ["get", "/sys/tokens/summary"],
    TokenMap: ["get", "/sys/tokens/map"],
    EndingTokens: ["get", "/sys/tokens/ends"],
    EndedPage: ["get", "/sys/tokens/ended"],
    RevocationPreview: ["post", "/sys/tokens/revoke", 0],
    RevocationCount: ["post", "/sys/tokens/revoke", 1],
    StartedRevocation: ["post", "/sys/tokens/revoke", 2],
    RevocationJob: ["get", "/sys/tokens/jobs/{id}"],
    RevocationJobs: ["get", "/sys/tokens/jobs"],
    Receipt: ["get", "/sys/tokens/jobs/{id}/receipt"],
    EndedCheck: ["post", "/sys/tokens/verify-ended"],
    AuditEvents: ["post", "/sys/audit/events"],
    AuditVerification: ["get", "/sys/audit/verify"],
  };

/** An OpenAPI document that has nothing but the schemas of these answers, by name: of an envelope its data. */
export function answersOf({ paths }: AnsweringDocument): Record<string, unknown> {
  const schemas = Object.entries(ANSWERS).map(([name, [method, path, at = 0, items = ""]]) => {
    const answer = paths[path]?.[method]?.responses["200"]?.content?.["application/json"];
    if (!answer) throw new Error(`${method} ${path} has no answer`);
    const { anyOf = [answer.schema] } = answer.schema as { readonly anyOf?: readonly Schema[] };
    const whole = dataOf(anyOf[at] ?? {});
    return [name, items === "" ? whole : itemsOf(whole, items)] as const;
  });
  const names = new Map(schemas.map(([name, schema]) => [JSON.stringify(schema), name]));
  const named = schemas.map(([name, schema]) => [name, mapParts(schema, (part) => withReferences(part, names))]);
  const info = { title: "Answers", version: "1" };
  return { openapi: "3.0.3", info, paths: {}, components: { schemas: Object.fromEntries(named) } };
}

/** A part that is a schema with a name becomes a reference to it. */
function withReferences(part: unknown, names: ReadonlyMap<string, string>): unknown {
  const name = names.get(JSON.stringify(part));
  return name ? { $ref: `#/components/schemas/${name}` } : mapParts(part, (inner) => withReferences(inner, names));
}

function mapParts(whole: unknown, map: (part: unknown) => unknown): unknown {
  if (Array.isArray(whole)) return whole.map(map);
  if (typeof whole !== "object" || whole === null) return whole;
  return Object.fromEntries(Object.entries(whole).map(([name, part]) => [name, map(part)]));
}

function itemsOf({ properties }: Schema, name: string): Schema {
  return (properties as Readonly<Record<string, { readonly items: Schema }>>)[name]?.items ?? {};
}

/** Of an envelope its data, of another answer the whole. */
function dataOf(schema: Schema): Schema {
  const [, own] = (schema.allOf ?? []) as readonly { readonly properties?: { readonly data?: Schema } }[];
  return own?.properties?.data ?? schema;
}
