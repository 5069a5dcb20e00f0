import { type CallContext, type Route, withParameters } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../base/clock.ts";
import { attempted, changedOnce } from "../../base/lost-call-retry.ts";
import { hasUnprintable } from "../../base/misleading-characters.ts";
import { err, type Failure, invalidDocument, NOT_FOUND, ok } from "../../base/result.ts";
import { newWebhookId } from "../../team/ids.ts";
import { TRIGGERS } from "../../team/notices/notice-times.ts";
import {
  type Delivery,
  MAX_WEBHOOKS,
  readWebhookUrl,
  type SealedWebhook,
  secretFor,
  sendToWebhook,
  type Webhook,
} from "../../team/notices/webhooks.ts";
import { fieldSchema, NO_FIELDS, type Values } from "../../wire/field-schema.ts";
import { sent } from "../../wire/fields.ts";
import { exact, exactFlag, exactString, oneOf, orNull } from "../../wire/json-type-fields.ts";
import { EMPTY } from "../../wire/reply.ts";
import { inner, view } from "../../wire/view.ts";
import {
  bareRoute,
  documentAnswer,
  documentReply,
  documentRoute,
  organizationIn,
  refused,
  resourceListRoute,
} from "../json-api/routes.ts";
import { reference } from "./view.ts";

const WEBHOOK_TYPE = "notification-configurations";

/** A webhook. Its token is never shown. */
const WEBHOOK_VIEW = view<Webhook>({
  id: ["string", (webhook) => webhook.id],
  type: ["string", () => WEBHOOK_TYPE],
  attributes: inner({
    name: ["string", (webhook) => webhook.name],
    url: ["string", (webhook) => webhook.url],
    enabled: ["boolean", (webhook) => webhook.enabled],
    token: ["string | null", () => null],
    triggers: [["string"], (webhook) => webhook.triggers],
    "destination-type": ["string", () => "generic"],
    "created-at": ["string", (webhook) => formatRfc3339(webhook.createdAt)],
  }),
});

const DELIVERY_VIEW = view<Delivery>({
  id: ["string", (delivery) => `${delivery.tokenId}.${delivery.trigger}`],
  type: ["string", () => "notification-deliveries"],
  attributes: inner({
    trigger: ["string", (delivery) => delivery.trigger],
    state: ["string", (delivery) => delivery.state],
    attempts: ["integer", (delivery) => delivery.attempts],
    "sent-at": ["string", (delivery) => formatRfc3339(delivery.sentAt)],
    code: ["integer | null", (delivery) => delivery.status],
    error: ["string | null", (delivery) => delivery.error],
  }),
  relationships: inner({
    team: reference((delivery) => ({ id: delivery.teamId, type: "teams" })),
    token: reference((delivery) => ({ id: delivery.tokenId, type: "authentication-tokens" })),
  }),
});

const MAX_TEXT = 255;
const TEXT = `must be a string of 1 to ${MAX_TEXT} characters`;

const NAME = exactString(
  TEXT,
  (name) => textProblem(name) ?? (hasUnprintable(name) ? "must not hold control characters" : null),
).describe("The name");
const URL = exactString("must be a string").describe("The URL that receives the notices");

const TRIGGER_LIST = exact(["string"], (value) => {
  const triggers = TRIGGERS.filter((trigger) => Array.isArray(value) && value.includes(trigger));
  const isList = Array.isArray(value) && value.length <= TRIGGERS.length && triggers.length === new Set(value).size;
  return isList ? ok(triggers) : err(`must be a list of ${TRIGGERS.join(", ")}`);
});

const CHANGES = {
  token: sent(orNull(exactString(TEXT, textProblem))).describe("Key of their signatures; never shown"),
  enabled: sent(exactFlag()).describe("True: the webhook must accept a verification first"),
  triggers: sent(TRIGGER_LIST).describe(`Events that it is notified of: ${TRIGGERS.join(", ")}`),
  "destination-type": sent(oneOf(["generic"], "must be generic")).describe("`generic`"),
};

/** The attributes of a change; those that are absent stay as they are. */
const WEBHOOK_CHANGE = fieldSchema({ name: sent(NAME), url: sent(URL), ...CHANGES });
const NEW_WEBHOOK = fieldSchema({ name: NAME, url: URL, ...CHANGES });

function textProblem(text: string): string | null {
  return text.length >= 1 && text.length <= MAX_TEXT ? null : TEXT;
}

function readUrl({ env }: Pick<CallContext, "env">, text: string) {
  const url = readWebhookUrl(env, text);
  return url.ok ? url : refused("/data/attributes/url", url.error.replace("target", "url"));
}

function urlFailure(context: Pick<CallContext, "env">, text: string): Failure | null {
  const url = readUrl(context, text);
  return url.ok ? null : url.error;
}

async function findWebhook(context: CallContext): Promise<SealedWebhook | null> {
  const { name, organization } = organizationIn(context);
  return (await organization.webhooks(name))?.find(({ id }) => id === context.params.id) ?? null;
}

/**
 * Changes a webhook; a new one has revision 0. An enabled webhook must first accept a verification. If another request
 * has changed the webhook meanwhile, the change is refused.
 */
async function storeWebhook(context: CallContext, before: SealedWebhook, changes: Values<typeof WEBHOOK_CHANGE>) {
  const { env, installation } = context;
  const { name, organization } = organizationIn(context);
  const url = readUrl(context, changes.url ?? before.url);
  if (!url.ok) return url;
  const enabled = changes.enabled ?? before.enabled;
  const secret = await secretFor(installation.keys, before, url.value, changes.token);
  if (!secret.ok) return secret;
  const webhook: SealedWebhook = {
    ...before,
    name: changes.name ?? before.name,
    url: url.value,
    enabled,
    triggers: changes.triggers ?? before.triggers,
    since: enabled && !before.enabled ? currentTime() : before.since,
    revision: before.revision + 1,
    secret: secret.value,
  };
  if (!(await organization.show(name))) return NOT_FOUND;
  const problem = enabled ? await verifyWebhook(context, webhook) : null;
  if (problem) return err(problem);
  return changedOnce(env, async (attempt) => {
    const stored = await organization.putWebhook(name, webhook, attempt);
    return stored === "stored" ? ok(webhook) : NOT_STORED[stored];
  });
}

const NOT_STORED = {
  full: refused("/data", `the organization has ${MAX_WEBHOOKS} notification configurations: delete one`),
  gone: NOT_FOUND,
  changed: refused("/data", "the notification configuration was changed by another request meanwhile: try again"),
};

/** Sends a verification. Returns why the webhook did not accept it, or null. */
async function verifyWebhook(context: CallContext, webhook: SealedWebhook): Promise<Failure | null> {
  const { env, installation, params } = context;
  const attempt = await sendToWebhook(env, installation.keys, webhook, `${webhook.id}.verification`, {
    payload_version: 1,
    notification_configuration_id: webhook.id,
    organization_name: params.organization,
    notifications: [{ message: `Verification of ${webhook.name}`, trigger: "verification" }],
  });
  if (attempt.delivered) return null;
  const why = attempt.error ?? `it answered ${attempt.status}`;
  return invalidDocument(`url did not take the verification: ${why}`, "/data/attributes/url");
}

const PATH = "organizations/:organization/notification-configurations";

/** Webhooks of an organization. They are notified before team tokens expire. */
export const WEBHOOK_ROUTES: readonly Route[] = withParameters({ id: "The id of the webhook" }, [
  bareRoute("read", PATH, {
    summary: "Lists the webhooks of an organization.",
    operationId: "teams-list-notification-configurations",
    answers: plainAnswer({ data: [WEBHOOK_VIEW.shape] }),
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      const webhooks = await organization.webhooks(name);
      return webhooks ? documentReply(webhooks.map(WEBHOOK_VIEW.show)) : NOT_FOUND;
    },
  }),
  documentRoute("update", PATH, {
    summary: "Creates a webhook, which is notified before team tokens expire.",
    operationId: "teams-create-notification-configuration",
    answers: documentAnswer(WEBHOOK_VIEW, 201),
    types: [WEBHOOK_TYPE],
    attributes: NEW_WEBHOOK,
    check: ({ url }, context) => urlFailure(context, url),
    handle: async (context) => {
      const { name, url } = context.prepared;
      const now = currentTime();
      const state = { enabled: false, triggers: TRIGGERS, createdAt: now, since: now, revision: 0, secret: null };
      const stored = await storeWebhook(context, { id: newWebhookId(), name, url, ...state }, context.prepared);
      if (!stored.ok) return stored;
      context.request.notes.madeId = stored.value.id;
      return documentReply(WEBHOOK_VIEW.show(stored.value), 201);
    },
  }),
  bareRoute("read", `${PATH}/:id`, {
    summary: "Shows a webhook.",
    operationId: "teams-read-notification-configuration",
    answers: documentAnswer(WEBHOOK_VIEW),
    handle: async (context) => {
      const webhook = await findWebhook(context);
      return webhook ? documentReply(WEBHOOK_VIEW.show(webhook)) : NOT_FOUND;
    },
  }),
  documentRoute("patch", `${PATH}/:id`, {
    summary: "Changes a webhook.",
    operationId: "teams-update-notification-configuration",
    answers: documentAnswer(WEBHOOK_VIEW),
    types: [WEBHOOK_TYPE],
    attributes: WEBHOOK_CHANGE,
    check: ({ url }, context) => (url === undefined ? null : urlFailure(context, url)),
    handle: async (context) => {
      const webhook = await findWebhook(context);
      if (!webhook) return NOT_FOUND;
      const stored = await storeWebhook(context, webhook, context.prepared);
      return stored.ok ? documentReply(WEBHOOK_VIEW.show(stored.value)) : stored;
    },
  }),
  bareRoute("delete", `${PATH}/:id`, {
    summary: "Deletes a webhook.",
    operationId: "teams-delete-notification-configuration",
    answers: NO_CONTENT,
    handle: async (context) => {
      const { name, organization } = organizationIn(context);
      const { answer: isRemoved, isRepetition } = await attempted(context.env, () =>
        organization.removeWebhook(name, context.params.id ?? ""),
      );
      // An earlier attempt may have deleted it.
      return isRemoved || isRepetition ? ok(EMPTY) : NOT_FOUND;
    },
  }),
  bareRoute("update", `${PATH}/:id/actions/verify`, {
    summary: "Sends the verification to a webhook again.",
    operationId: "teams-verify-notification-configuration",
    answers: documentAnswer(WEBHOOK_VIEW),
    handle: async (context) => {
      const webhook = await findWebhook(context);
      if (!webhook) return NOT_FOUND;
      const problem = await verifyWebhook(context, webhook);
      return problem ? err(problem) : documentReply(WEBHOOK_VIEW.show(webhook));
    },
  }),
  resourceListRoute(`${PATH}/:id/deliveries`, {
    summary: "Lists the deliveries to a webhook by page.",
    operationId: "teams-list-notification-deliveries",
    view: DELIVERY_VIEW,
    own: NO_FIELDS,
    find: async (context) => {
      const { name, organization } = organizationIn(context);
      const page = await organization.deliveries(name, context.params.id ?? "", context.prepared.page);
      return page ? ok(page) : NOT_FOUND;
    },
    showTo: () => DELIVERY_VIEW.show,
  }),
]);
