import * as z from "zod";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationNamed } from "../../team/find.ts";
import type { OrganizationRecord } from "../../team/record.ts";
import { TOKEN_KINDS } from "../../team/record.ts";
import { DEFAULT_MAX_TTL_MS } from "../../team/rules/lifetime.ts";
import { MAX_TTL_MS } from "../../team/rules/organization-settings.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { plainReply, type Reply } from "../../wire/reply.ts";
import { readResource } from "../json-api/document.ts";

const TYPE = "organization-token-ttl-policies";
const MAX_POLICIES = 16;
const RULE = `must be a list of token-type (${TOKEN_KINDS.join(", ")}) and max-ttl-ms (1 to ${MAX_TTL_MS})`;

const POLICY = z.object(
  { "token-type": z.enum(TOKEN_KINDS, RULE), "max-ttl-ms": z.int(RULE).min(1, RULE).max(MAX_TTL_MS, RULE) },
  RULE,
);
const ATTRIBUTES = z.object({ "token-ttl-policies": z.array(POLICY, RULE).min(1, RULE).max(MAX_POLICIES, RULE) });

const POLICIES = plainAnswer({
  data: [{ id: "string", type: "string", attributes: { "token-type": "string", "max-ttl-ms": "integer" } }],
});

/** The greatest lifetimes of an organization's tokens. That of teams counts while `max-ttl-enabled` is true. */
export const TOKEN_TTL_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    "organizations/:organization/token-ttl-policies",
    {
      summary: "Shows how long tokens of an organization live at most, by kind.",
      operationId: "teams-read-token-ttl-policies",
      parameters: { organization: "The name of the organization" },
      fields: {},
      answers: POLICIES,
    },
    ANY_FIELDS,
    async ({ env, params }) => {
      const name = params.organization ?? "";
      return document(await organizationNamed(env, name).show(name));
    },
  ),

  tokenRoute(
    "patch",
    "organizations/:organization/token-ttl-policies",
    {
      summary: "Sets how long tokens of an organization live at most.",
      operationId: "teams-update-token-ttl-policies",
      parameters: { organization: "The name of the organization" },
      fields: {
        "token-ttl-policies": {
          shape: [{ "token-type": "string", "max-ttl-ms": "integer" }],
          description: "Kinds of tokens with their greatest lifetime in ms",
        },
      },
      answers: POLICIES,
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, [TYPE], ATTRIBUTES),
      handle: change,
    },
  ),
];

async function change({
  env,
  params,
  prepared,
}: CallContext<Record<string, unknown>, z.infer<typeof ATTRIBUTES>>): Promise<Result<Reply, Failure>> {
  const name = params.organization ?? "";
  const given = prepared["token-ttl-policies"].map((policy) => [policy["token-type"], policy["max-ttl-ms"]]);
  return document(await organizationNamed(env, name).update(name, { maxTtls: Object.fromEntries(given) }));
}

function document(organization: OrganizationRecord | null): Result<Reply, Failure> {
  if (!organization) return err(NO_ORGANIZATION);
  const data = TOKEN_KINDS.map((kind) => ({
    id: `${organization.organizationId}-${kind}`,
    type: TYPE,
    attributes: { "token-type": kind, "max-ttl-ms": organization.maxTtls?.[kind] ?? DEFAULT_MAX_TTL_MS },
  }));
  return ok(plainReply({ data }));
}
