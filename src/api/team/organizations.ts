import type { Answered, CallContext, Route } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime, type Ms } from "../../base/clock.ts";
import { attempted, changedOnce } from "../../base/lost-call-retry.ts";
import { err, invalidDocument, NOT_FOUND, ok, type Result } from "../../base/result.ts";
import { untilCopiesAreOld } from "../../system/in-effect.ts";
import { newOrganizationId } from "../../team/ids.ts";
import { type OrganizationChange, type OrganizationRecord, TOKEN_KINDS, type TokenKind } from "../../team/record.ts";
import { MAX_TTL_MS, NEW_ORGANIZATION, ORGANIZATION_CHANGE } from "../../team/rules/organization-settings.ts";
import { DEFAULT_MAX_TTL_MS } from "../../team/rules/token-lifetime.ts";
import { organizationDirectory, organizationNamed } from "../../team/stubs.ts";
import { fieldSchema, readValues } from "../../wire/field-schema.ts";
import { isObject } from "../../wire/fields.ts";
import { exact, exactInteger, oneOf } from "../../wire/json-type-fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import {
  bareRoute,
  documentAnswer,
  documentReply,
  documentRoute,
  organizationIn,
  resourceListRoute,
  SEARCH_FIELD,
} from "../json-api/routes.ts";
import { ORGANIZATION_VIEW, organizationsFor } from "./view.ts";

const TTL_TYPE = "organization-token-ttl-policies";
const MAX_TTL_POLICIES = 16;
const TTL_RULE = `must be a list of token-type (${TOKEN_KINDS.join(", ")}) and max-ttl-ms (1 to ${MAX_TTL_MS})`;

const TTL_POLICY = fieldSchema({
  "token-type": oneOf(TOKEN_KINDS, TTL_RULE),
  "max-ttl-ms": exactInteger(TTL_RULE, 1, MAX_TTL_MS),
});
const TTL_ATTRIBUTES = fieldSchema({
  "token-ttl-policies": exact([{ "token-type": "string", "max-ttl-ms": "integer" }], readPolicies).describe(
    "Kinds of tokens with their maximum lifetime in ms",
  ),
});

const TTL_POLICIES = plainAnswer({
  data: [{ id: "string", type: "string", attributes: { "token-type": "string", "max-ttl-ms": "integer" } }],
});

function readPolicies(value: unknown): Result<Readonly<Partial<Record<TokenKind, Ms>>>, string> {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_TTL_POLICIES) return err(TTL_RULE);
  const maxTtls: Partial<Record<TokenKind, Ms>> = {};
  for (const policy of value) {
    const read = isObject(policy) ? readValues(TTL_POLICY, policy) : null;
    if (!read?.ok) return err(TTL_RULE);
    maxTtls[read.value["token-type"]] = read.value["max-ttl-ms"];
  }
  return ok(maxTtls);
}

function ttlDocument(organization: OrganizationRecord | null): Result<Reply> {
  if (!organization) return NOT_FOUND;
  const data = TOKEN_KINDS.map((kind) => ({
    id: `${organization.organizationId}-${kind}`,
    type: TTL_TYPE,
    attributes: { "token-type": kind, "max-ttl-ms": organization.maxTtls?.[kind] ?? DEFAULT_MAX_TTL_MS },
  }));
  return documentReply(data);
}

const TYPES = ["organizations"];

/** Organizations, with the maximum lifetimes of their tokens. That of teams applies while `max-ttl-enabled` is true. */
export const ORGANIZATION_ROUTES: readonly Route[] = [
  resourceListRoute("organizations", {
    summary: "Lists the organizations by page.",
    operationId: "teams-list-organizations",
    view: ORGANIZATION_VIEW,
    own: fieldSchema(SEARCH_FIELD),
    find: async ({ env, prepared: { page, own } }) => ok(await organizationDirectory(env).list(page, own.q)),
    showTo: organizationsFor,
  }),
  documentRoute("update", "organizations", {
    summary: "Creates an organization.",
    operationId: "teams-create-organization",
    answers: documentAnswer(ORGANIZATION_VIEW, 201),
    types: TYPES,
    attributes: NEW_ORGANIZATION,
    handle: async (context) => {
      const { name, email, ...settings } = context.prepared;
      const record = { name, email, settings, organizationId: newOrganizationId(), createdAt: currentTime() };
      const { env } = context;
      const created = await changedOnce(env, (attempt) => organizationNamed(env, name).create(record, attempt));
      if (created.ok) context.request.notes.madeId = name;
      return created.ok ? document(context, created.value, 201) : created;
    },
  }),
  bareRoute("read", "organizations/:organization", {
    summary: "Shows an organization.",
    operationId: "teams-read-organization",
    answers: documentAnswer(ORGANIZATION_VIEW),
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      return document(context, await organization.show(name));
    },
  }),
  documentRoute("patch", "organizations/:organization", {
    summary: "Changes an organization.",
    operationId: "teams-update-organization",
    answers: documentAnswer(ORGANIZATION_VIEW),
    types: TYPES,
    attributes: ORGANIZATION_CHANGE,
    // The name is the id of the organization and part of every path to it.
    check: ({ name }, { params }) =>
      name === undefined || name === params.organization
        ? null
        : invalidDocument("name can't be changed", "/data/attributes/name"),
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      const { name: _, email, ...settings } = context.prepared;
      const isChange = email !== undefined || Object.keys(settings).length > 0;
      if (!isChange) return document(context, await organization.show(name));
      const updated = await update(context, { email, settings });
      return updated.ok ? document(context, updated.value) : updated;
    },
  }),
  bareRoute("delete", "organizations/:organization", {
    summary: "Deletes an organization with its teams and their tokens.",
    operationId: "teams-delete-organization",
    answers: NO_CONTENT,
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      const found = await organization.show(name);
      const { answer: removed } = await attempted(context.env, (attempt) =>
        organization.remove(name, found?.organizationId ?? "", attempt),
      );
      if (removed === null) return NOT_FOUND;
      // The remaining teams stop working when they next read the organization, which is within this time.
      if (removed === "going") await untilCopiesAreOld(context.env);
      return ok(EMPTY);
    },
  }),
  bareRoute("read", "organizations/:organization/token-ttl-policies", {
    summary: "Shows the maximum lifetimes of tokens by kind.",
    operationId: "teams-read-token-ttl-policies",
    answers: TTL_POLICIES,
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      return ttlDocument(await organization.show(name));
    },
  }),
  documentRoute("patch", "organizations/:organization/token-ttl-policies", {
    summary: "Changes the maximum lifetimes of tokens by kind.",
    operationId: "teams-update-token-ttl-policies",
    answers: TTL_POLICIES,
    types: [TTL_TYPE],
    attributes: TTL_ATTRIBUTES,
    handle: async (context) => {
      const updated = await update(context, { maxTtls: context.prepared["token-ttl-policies"] });
      return updated.ok ? ttlDocument(updated.value) : updated;
    },
  }),
];

/** Changes the organization in the path. */
function update(context: CallContext, change: OrganizationChange): Promise<Result<OrganizationRecord>> {
  const { name, organization } = organizationIn(context);
  return changedOnce(context.env, async (attempt) => {
    const updated = await organization.update(name, change, attempt);
    return updated ? ok(updated) : NOT_FOUND;
  });
}

async function document(context: CallContext, organization: OrganizationRecord | null, status = 200): Answered {
  if (!organization) return NOT_FOUND;
  const show = await organizationsFor(context);
  return documentReply(show(organization), status);
}
