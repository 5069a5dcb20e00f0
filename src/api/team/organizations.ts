import type { z } from "zod";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { snapshotMaxAgeMs } from "../../system/snapshot-age.ts";
import { NO_ORGANIZATION } from "../../team/failures.ts";
import { organizationDirectory, organizationNamed } from "../../team/find.ts";
import { newOrganizationId } from "../../team/ids.ts";
import type { OrganizationRecord } from "../../team/record.ts";
import { NEW_ORGANIZATION, ORGANIZATION_CHANGE } from "../../team/rules/settings.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { EMPTY, plainReply, type Reply } from "../../wire/reply.ts";
import { readResource, refused } from "../json-api/document.ts";
import { PAGE_FIELDS, pageDocument, pageShape, readListQuery, readSearch, SEARCH_FIELD } from "../json-api/page.ts";
import { mayOf, organizationPermissions } from "./permissions.ts";
import { ORGANIZATION_SHAPE, organizationResource } from "./render.ts";

const TYPES = ["organizations"];

const ORGANIZATION = { organization: "The name of the organization" };
const ORGANIZATION_FIELDS = {
  name: { shape: "string", description: "The name; it can't be changed" },
  email: { shape: "string", description: "The e-mail address of whoever administers it" },
  "max-ttl-enabled": { shape: "boolean", description: "True: the token TTL policy of teams is the greatest lifetime" },
  "default-team-token-ttl-ms": { shape: "integer | null", description: "How long tokens live that name no end" },
  "*": { shape: "any", description: "Settings that clients send; they are kept and shown" },
} as const;

/** Organizations. */
export const ORGANIZATION_ROUTES: readonly Route[] = [
  tokenRoute(
    "read",
    "organizations",
    {
      summary: "Lists the organizations by page.",
      operationId: "teams-list-organizations",
      fields: { ...PAGE_FIELDS, ...SEARCH_FIELD },
      answers: plainAnswer(pageShape(ORGANIZATION_SHAPE)),
    },
    ANY_FIELDS,
    {
      async prepare({ fields }) {
        const query = readListQuery(fields, ["q"]);
        if (!query.ok) return query;
        const search = readSearch(query.value);
        return search.ok ? ok({ query: query.value, search: search.value }) : search;
      },
      async handle(context) {
        const { env, request, prepared } = context;
        const { query, search } = prepared;
        const page = await organizationDirectory(env).list(query.page, search);
        if (!page.ok) return page;
        const may = await mayOf(context);
        const body = pageDocument(request.baseUrl(), request.path, query, page.value, (organization) =>
          organizationResource(organization, organizationPermissions(may, organization)),
        );
        return ok(plainReply(body));
      },
    },
  ),

  tokenRoute(
    "update",
    "organizations",
    {
      summary: "Makes an organization.",
      operationId: "teams-create-organization",
      fields: ORGANIZATION_FIELDS,
      answers: plainAnswer({ data: ORGANIZATION_SHAPE }, 201),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, TYPES, NEW_ORGANIZATION),
      async handle(context) {
        const { env, prepared } = context;
        const { name, email, ...settings } = prepared;
        const record = { name, email, settings, organizationId: newOrganizationId(), createdAt: currentTime() };
        const created = await organizationNamed(env, record.name).create(record);
        return created.ok ? document(context, 201, created.value) : created;
      },
    },
  ),

  simpleRoute(
    "read",
    "organizations/:organization",
    {
      summary: "Shows an organization.",
      operationId: "teams-read-organization",
      parameters: ORGANIZATION,
      fields: {},
      answers: plainAnswer({ data: ORGANIZATION_SHAPE }),
    },
    ANY_FIELDS,
    async (context) => {
      const name = context.params.organization ?? "";
      return document(context, 200, await organizationNamed(context.env, name).show(name));
    },
  ),

  tokenRoute(
    "patch",
    "organizations/:organization",
    {
      summary: "Changes an organization.",
      operationId: "teams-update-organization",
      parameters: ORGANIZATION,
      fields: ORGANIZATION_FIELDS,
      answers: plainAnswer({ data: ORGANIZATION_SHAPE }),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields, params }) =>
        readChange(request.resourceType, fields, params.organization ?? ""),
      async handle(context) {
        const { env, params, prepared } = context;
        const name = params.organization ?? "";
        const organization = organizationNamed(env, name);
        const { name: _, email, ...settings } = prepared;
        const changes = email !== undefined || Object.keys(settings).length > 0;
        const changed = changes ? await organization.update(name, { email, settings }) : await organization.show(name);
        return document(context, 200, changed);
      },
    },
  ),

  simpleRoute(
    "delete",
    "organizations/:organization",
    {
      summary: "Deletes an organization with its teams and their tokens.",
      operationId: "teams-delete-organization",
      parameters: ORGANIZATION,
      fields: {},
      answers: NO_CONTENT,
    },
    ANY_FIELDS,
    remove,
  ),
];

/** The name of an organization is its id and part of every path to it: it can't be changed. */
function readChange(
  type: string | null,
  attributes: Readonly<Record<string, unknown>>,
  organization: string,
): Result<z.infer<typeof ORGANIZATION_CHANGE>, Failure> {
  const read = readResource({ type, attributes }, TYPES, ORGANIZATION_CHANGE);
  if (!read.ok || read.value.name === undefined || read.value.name === organization) return read;
  return refused("/data/attributes/name", "name can't be changed");
}

async function remove({ env, params }: CallContext<unknown, unknown>): Promise<Result<Reply, Failure>> {
  const name = params.organization ?? "";
  const removed = await organizationNamed(env, name).remove(name);
  if (removed === null) return err(NO_ORGANIZATION);
  // Teams that are not ended yet stop working when they next ask for the organization, which is within this time.
  if (removed === "going") await scheduler.wait(snapshotMaxAgeMs(env));
  return ok(EMPTY);
}

async function document(
  context: CallContext<unknown, unknown>,
  status: number,
  organization: OrganizationRecord | null,
): Promise<Result<Reply, Failure>> {
  if (!organization) return err(NO_ORGANIZATION);
  const data = organizationResource(organization, organizationPermissions(await mayOf(context), organization));
  return ok({ kind: "plain", status, body: { data } });
}
