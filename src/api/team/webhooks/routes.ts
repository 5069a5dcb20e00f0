import { type Route, withParameters } from "../../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, ok } from "../../../base/result.ts";
import { organizationNamed } from "../../../team/find.ts";
import { newWebhookId } from "../../../team/ids.ts";
import { TRIGGERS } from "../../../team/notices/rules.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { pageReply, pageShape } from "../../json-api/page.ts";
import { bareRoute, documentReply, documentRoute, listRoute } from "../../json-api/routes.ts";
import { NEW_WEBHOOK, WEBHOOK_CHANGE } from "./fields.ts";
import { findWebhook, storeWebhook, verifyWebhook } from "./store.ts";
import { DELIVERY_VIEW, WEBHOOK_TYPE, WEBHOOK_VIEW } from "./view.ts";

const NOT_FOUND = err({ code: "not_found" } as const);

const PATH = "organizations/:organization/notification-configurations";

/** Webhooks of an organization, which are notified of tokens that end. */
export const WEBHOOK_ROUTES: readonly Route[] = withParameters({ id: "The id of the webhook" }, [
  bareRoute(
    "read",
    PATH,
    {
      summary: "Lists the webhooks of an organization.",
      operationId: "teams-list-notification-configurations",
      answers: plainAnswer({ data: [WEBHOOK_VIEW.shape] }),
    },
    async ({ env, params }) => {
      const name = params.organization ?? "";
      const webhooks = await organizationNamed(env, name).webhooks(name);
      return webhooks ? documentReply(webhooks.map(WEBHOOK_VIEW.show)) : NOT_FOUND;
    },
  ),
  documentRoute(
    "update",
    PATH,
    {
      summary: "Makes a webhook, which is notified of tokens that end.",
      operationId: "teams-create-notification-configuration",
      answers: plainAnswer({ data: WEBHOOK_VIEW.shape }, 201),
    },
    [WEBHOOK_TYPE],
    NEW_WEBHOOK,
    async (context) => {
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
      return stored.ok ? documentReply(WEBHOOK_VIEW.show(stored.value), 201) : stored;
    },
  ),
  bareRoute(
    "read",
    `${PATH}/:id`,
    {
      summary: "Shows a webhook.",
      operationId: "teams-read-notification-configuration",
      answers: plainAnswer({ data: WEBHOOK_VIEW.shape }),
    },
    async (context) => {
      const webhook = await findWebhook(context);
      return webhook ? documentReply(WEBHOOK_VIEW.show(webhook)) : NOT_FOUND;
    },
  ),
  documentRoute(
    "patch",
    `${PATH}/:id`,
    {
      summary: "Changes a webhook.",
      operationId: "teams-update-notification-configuration",
      answers: plainAnswer({ data: WEBHOOK_VIEW.shape }),
    },
    [WEBHOOK_TYPE],
    WEBHOOK_CHANGE,
    async (context) => {
      const webhook = await findWebhook(context);
      if (!webhook) return NOT_FOUND;
      const stored = await storeWebhook(context, webhook, context.prepared);
      return stored.ok ? documentReply(WEBHOOK_VIEW.show(stored.value)) : stored;
    },
  ),
  bareRoute(
    "delete",
    `${PATH}/:id`,
    {
      summary: "Deletes a webhook.",
      operationId: "teams-delete-notification-configuration",
      answers: NO_CONTENT,
    },
    async ({ env, params }) => {
      const name = params.organization ?? "";
      return (await organizationNamed(env, name).removeWebhook(name, params.id ?? "")) ? ok(EMPTY) : NOT_FOUND;
    },
  ),
  bareRoute(
    "update",
    `${PATH}/:id/actions/verify`,
    {
      summary: "Sends the verification to a webhook again.",
      operationId: "teams-verify-notification-configuration",
      answers: plainAnswer({ data: WEBHOOK_VIEW.shape }),
    },
    async (context) => {
      const webhook = await findWebhook(context);
      if (!webhook) return NOT_FOUND;
      const problem = await verifyWebhook(context, webhook);
      return problem ? err(problem) : documentReply(WEBHOOK_VIEW.show(webhook));
    },
  ),
  listRoute(
    `${PATH}/:id/deliveries`,
    {
      summary: "Lists what was sent to a webhook by page.",
      operationId: "teams-list-notification-deliveries",
      answers: plainAnswer(pageShape(DELIVERY_VIEW.shape)),
    },
    NO_FIELDS,
    async (context) => {
      const { env, params, prepared } = context;
      const name = params.organization ?? "";
      const page = await organizationNamed(env, name).deliveries(name, params.id ?? "", prepared.page);
      return page ? pageReply(context, page, DELIVERY_VIEW.show) : NOT_FOUND;
    },
  ),
]);
