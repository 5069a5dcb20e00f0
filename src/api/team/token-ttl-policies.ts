import type { Route } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed } from "../../team/find.ts";
import { type OrganizationRecord, TOKEN_KINDS, type TokenKind } from "../../team/record.ts";
import { DEFAULT_MAX_TTL_MS } from "../../team/rules/lifetime.ts";
import { MAX_TTL_MS } from "../../team/rules/organization-settings.ts";
import { exact, exactInteger, oneOf } from "../../wire/exact-fields.ts";
import { fieldSchema, isObject, readValues } from "../../wire/fields.ts";
import type { Reply } from "../../wire/reply.ts";
import { bareRoute, documentReply, documentRoute } from "../json-api/routes.ts";

const TYPE = "organization-token-ttl-policies";
const MAX_POLICIES = 16;
const RULE = `must be a list of token-type (${TOKEN_KINDS.join(", ")}) and max-ttl-ms (1 to ${MAX_TTL_MS})`;

const POLICY = fieldSchema({ "token-type": oneOf(TOKEN_KINDS, RULE), "max-ttl-ms": exactInteger(RULE, 1, MAX_TTL_MS) });
const ATTRIBUTES = fieldSchema({
  "token-ttl-policies": exact([{ "token-type": "string", "max-ttl-ms": "integer" }], readPolicies).describe(
    "Kinds of tokens with their greatest lifetime in ms",
  ),
});

const POLICIES = plainAnswer({
  data: [{ id: "string", type: "string", attributes: { "token-type": "string", "max-ttl-ms": "integer" } }],
});

/** The greatest lifetimes of an organization's tokens. That of teams counts while `max-ttl-enabled` is true. */
export const TOKEN_TTL_ROUTES: readonly Route[] = [
  bareRoute(
    "read",
    "organizations/:organization/token-ttl-policies",
    {
      summary: "Shows how long tokens of an organization live at most, by kind.",
      operationId: "teams-read-token-ttl-policies",
      answers: POLICIES,
    },
    async ({ env, params }) => {
      const name = params.organization ?? "";
      return document(await organizationNamed(env, name).show(name));
    },
  ),
  documentRoute(
    "patch",
    "organizations/:organization/token-ttl-policies",
    {
      summary: "Sets how long tokens of an organization live at most.",
      operationId: "teams-update-token-ttl-policies",
      answers: POLICIES,
    },
    [TYPE],
    ATTRIBUTES,
    async ({ env, params, prepared }) => {
      const name = params.organization ?? "";
      const maxTtls = prepared["token-ttl-policies"];
      return document(await organizationNamed(env, name).update(name, { maxTtls }));
    },
  ),
];

/** The greatest lifetimes (ms) by kind of token. */
function readPolicies(value: unknown): Result<Readonly<Partial<Record<TokenKind, number>>>, string> {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_POLICIES) return err(RULE);
  const maxTtls: Partial<Record<TokenKind, number>> = {};
  for (const policy of value) {
    const read = isObject(policy) ? readValues(POLICY, policy) : null;
    if (!read?.ok) return err(RULE);
    maxTtls[read.value["token-type"]] = read.value["max-ttl-ms"];
  }
  return ok(maxTtls);
}

function document(organization: OrganizationRecord | null): Result<Reply, Failure> {
  if (!organization) return err(NO_ORGANIZATION);
  const data = TOKEN_KINDS.map((kind) => ({
    id: `${organization.organizationId}-${kind}`,
    type: TYPE,
    attributes: { "token-type": kind, "max-ttl-ms": organization.maxTtls?.[kind] ?? DEFAULT_MAX_TTL_MS },
  }));
  return documentReply(data);
}
