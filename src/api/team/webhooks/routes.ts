import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { organizationNamed } from "../../../team/find.ts";
import { newWebhookId } from "../../../team/ids.ts";
import { TRIGGERS } from "../../../team/notices/rules.ts";
import { ANY_FIELDS } from "../../../wire/fields.ts";
import { EMPTY, plainReply, type Reply } from "../../../wire/reply.ts";
import { readResource } from "../../json-api/document.ts";
import { PAGE_FIELDS, pageDocument, pageShape, readListQuery } from "../../json-api/page.ts";
import { NEW_WEBHOOK, WEBHOOK_CHANGE, WEBHOOK_FIELDS } from "./fields.ts";
import { findWebhook, storeWebhook, verifyWebhook } from "./store.ts";
import { DELIVERY_SHAPE, deliveryResource, WEBHOOK_SHAPE, WEBHOOK_TYPE, webhookResource } from "./view.ts";

const NOT_FOUND = err({ code: "not_found" } as const);

const PATH = "organizations/:organization/notification-configurations";

const ORGANIZATION = { organization: "The name of the organization" };
const WEBHOOK = { ...ORGANIZATION, id: "The id of the webhook" };

/** Webhooks of an organization, which are told of tokens that end. */
export const WEBHOOK_ROUTES: readonly Route[] = [
  simpleRoute(
    "read",
    PATH,
    {
      summary: "Lists the webhooks of an organization.",
      operationId: "teams-list-notification-configurations",
      parameters: ORGANIZATION,
      fields: {},
      answers: plainAnswer({ data: [WEBHOOK_SHAPE] }),
    },
    ANY_FIELDS,
    async ({ env, params }) => {
      const name = params.organization ?? "";
      const webhooks = await organizationNamed(env, name).webhooks(name);
      return webhooks ? document(200, webhooks.map(webhookResource)) : NOT_FOUND;
    },
  ),

  tokenRoute(
    "update",
    PATH,
    {
      summary: "Makes a webhook, which is told of tokens that end.",
      operationId: "teams-create-notification-configuration",
      parameters: ORGANIZATION,
      fields: WEBHOOK_FIELDS,
      answers: plainAnswer({ data: WEBHOOK_SHAPE }, 201),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, [WEBHOOK_TYPE], NEW_WEBHOOK),
      async handle(context) {
        const { name, url } = context.prepared;
        const now = currentTime();
        const created = {
          id: newWebhookId(),
          name,
          url,
          enabled: false,
          triggers: TRIGGERS,
          createdAt: now,
          since: now,
          revision: 0,
        };
        const stored = await storeWebhook(context, { ...created, secret: null }, context.prepared);
        return stored.ok ? document(201, webhookResource(stored.value)) : stored;
      },
    },
  ),

  simpleRoute(
    "read",
    `${PATH}/:id`,
    {
      summary: "Shows a webhook.",
      operationId: "teams-read-notification-configuration",
      parameters: WEBHOOK,
      fields: {},
      answers: plainAnswer({ data: WEBHOOK_SHAPE }),
    },
    ANY_FIELDS,
    async (context) => {
      const webhook = await findWebhook(context);
      return webhook ? document(200, webhookResource(webhook)) : NOT_FOUND;
    },
  ),

  tokenRoute(
    "patch",
    `${PATH}/:id`,
    {
      summary: "Changes a webhook.",
      operationId: "teams-update-notification-configuration",
      parameters: WEBHOOK,
      fields: WEBHOOK_FIELDS,
      answers: plainAnswer({ data: WEBHOOK_SHAPE }),
    },
    ANY_FIELDS,
    {
      prepare: async ({ request, fields }) =>
        readResource({ type: request.resourceType, attributes: fields }, [WEBHOOK_TYPE], WEBHOOK_CHANGE),
      async handle(context) {
        const webhook = await findWebhook(context);
        if (!webhook) return NOT_FOUND;
        const stored = await storeWebhook(context, webhook, context.prepared);
        return stored.ok ? document(200, webhookResource(stored.value)) : stored;
      },
    },
  ),

  simpleRoute(
    "delete",
    `${PATH}/:id`,
    {
      summary: "Deletes a webhook.",
      operationId: "teams-delete-notification-configuration",
      parameters: WEBHOOK,
      fields: {},
      answers: NO_CONTENT,
    },
    ANY_FIELDS,
    async ({ env, params }) => {
      const name = params.organization ?? "";
      return (await organizationNamed(env, name).removeWebhook(name, params.id ?? "")) ? ok(EMPTY) : NOT_FOUND;
    },
  ),

  simpleRoute(
    "update",
    `${PATH}/:id/actions/verify`,
    {
      summary: "Sends the verification to a webhook again.",
      operationId: "teams-verify-notification-configuration",
      parameters: WEBHOOK,
      fields: {},
      answers: plainAnswer({ data: WEBHOOK_SHAPE }),
    },
    ANY_FIELDS,
    async (context) => {
      const webhook = await findWebhook(context);
      if (!webhook) return NOT_FOUND;
      const problem = await verifyWebhook(context, webhook);
      return problem ? err(problem) : document(200, webhookResource(webhook));
    },
  ),

  tokenRoute(
    "read",
    `${PATH}/:id/deliveries`,
    {
      summary: "Lists what was sent to a webhook by page.",
      operationId: "teams-list-notification-deliveries",
      parameters: WEBHOOK,
      fields: PAGE_FIELDS,
      answers: plainAnswer(pageShape(DELIVERY_SHAPE)),
    },
    ANY_FIELDS,
    {
      prepare: async ({ fields }) => readListQuery(fields, []),
      async handle({ env, params, request, prepared: query }) {
        const name = params.organization ?? "";
        const page = await organizationNamed(env, name).deliveries(name, params.id ?? "", query.page);
        if (!page) return NOT_FOUND;
        return ok(plainReply(pageDocument(request.baseUrl(), request.path, query, page, deliveryResource)));
      },
    },
  ),
];

function document(status: number, data: unknown): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}
