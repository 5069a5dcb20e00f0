import * as z from "zod";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { NO_CONTENT, plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { formatRfc3339 } from "../../base/rfc3339.ts";
import { organizationNamed } from "../../team/find.ts";
import { newWebhookId } from "../../team/ids.ts";
import type { Delivery, SealedWebhook, Webhook } from "../../team/notices/record.ts";
import { TRIGGERS, type Trigger } from "../../team/notices/rules.ts";
import { readWebhookUrl, sealSecret, sendToWebhook } from "../../team/notices/send.ts";
import { MAX_WEBHOOKS } from "../../team/notices/webhook-store.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import type { Shape } from "../../wire/shape.ts";
import { readResource, refused } from "../json-api/document.ts";
import { PAGE_FIELDS, pageDocument, pageShape, readListQuery } from "../json-api/page.ts";

const TYPE = "notification-configurations";
const MAX_TEXT = 255;
const TEXT = `must be a string of 1 to ${MAX_TEXT} characters`;
const LIST = `must be a list of ${TRIGGERS.join(", ")}`;

const CHANGES = {
  name: z.string(TEXT).min(1, TEXT).max(MAX_TEXT, TEXT).optional(),
  url: z.string("must be a string").optional(),
  token: z.string(TEXT).min(1, TEXT).max(MAX_TEXT, TEXT).nullable().optional(),
  enabled: z.boolean("must be true or false").optional(),
  triggers: z
    .array(z.string(LIST), LIST)
    .max(TRIGGERS.length, LIST)
    .transform((names, context): Trigger[] => {
      const triggers = TRIGGERS.filter((trigger) => names.includes(trigger));
      if (triggers.length < new Set(names).size) context.addIssue({ code: "custom", message: LIST });
      return triggers;
    })
    .optional(),
  "destination-type": z.literal("generic", "must be generic").optional(),
};

const CHANGE = z.object(CHANGES);
const NEW = z.object({ ...CHANGES, name: CHANGES.name.unwrap(), url: CHANGES.url.unwrap() });

const NOT_FOUND = err({ code: "not_found" } as const);
const PATH = "organizations/:organization/notification-configurations";

type AnyCall = Pick<CallContext<unknown, unknown>, "env" | "installation" | "params">;

const ORGANIZATION = { organization: "The name of the organization" };
const WEBHOOK = { ...ORGANIZATION, id: "The id of the webhook" };
const WEBHOOK_FIELDS = {
  name: { shape: "string", description: "The name" },
  url: { shape: "string", description: "Where notices are sent to" },
  token: { shape: "string | null", description: "What notices are signed with; never shown" },
  enabled: { shape: "boolean", description: "True: it has to take a verification first" },
  triggers: { shape: ["string"], description: `What it is told of: ${TRIGGERS.join(", ")}` },
  "destination-type": { shape: "string", description: "`generic`" },
} as const;
const WEBHOOK_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    name: "string",
    url: "string",
    enabled: "boolean",
    token: "string | null",
    triggers: ["string"],
    "destination-type": "string",
    "created-at": "string",
  },
} as const satisfies Shape;
const DELIVERY_SHAPE = {
  id: "string",
  type: "string",
  attributes: {
    trigger: "string",
    state: "string",
    attempts: "integer",
    "sent-at": "string",
    code: "integer | null",
    error: "string | null",
  },
  relationships: { "*": "object" },
} as const satisfies Shape;

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
        readResource({ type: request.resourceType, attributes: fields }, [TYPE], NEW),
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
        };
        return store(context, 201, { ...created, secret: null }, context.prepared);
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
      const webhook = await find(context);
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
        readResource({ type: request.resourceType, attributes: fields }, [TYPE], CHANGE),
      async handle(context) {
        const webhook = await find(context);
        return webhook ? store(context, 200, webhook, context.prepared) : NOT_FOUND;
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
      const webhook = await find(context);
      if (!webhook) return NOT_FOUND;
      const problem = await verify(context, webhook);
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
        return ok({
          kind: "plain",
          status: 200,
          body: pageDocument(request.baseUrl(), request.path, query, page, deliveryResource),
        });
      },
    },
  ),
];

/** Stores a webhook with changes. One that is switched on has to answer first. */
async function store(
  context: AnyCall,
  status: number,
  before: SealedWebhook,
  changes: z.infer<typeof CHANGE>,
): Promise<Result<Reply, Failure>> {
  const { env, installation, params } = context;
  const name = params.organization ?? "";
  const { token } = changes;
  const url = readWebhookUrl(env, changes.url ?? before.url);
  if (!url.ok) return refused("/data/attributes/url", url.error.replace("target", "url"));
  const enabled = changes.enabled ?? before.enabled;
  const webhook: SealedWebhook = {
    ...before,
    name: changes.name ?? before.name,
    url: url.value,
    enabled,
    triggers: changes.triggers ?? before.triggers,
    since: enabled && !before.enabled ? currentTime() : before.since,
    secret: token ? await sealSecret(installation.keys, before.id, token) : token === null ? null : before.secret,
  };
  if (!(await organizationNamed(env, name).show(name))) return NOT_FOUND;
  const problem = enabled ? await verify(context, webhook) : null;
  if (problem) return err(problem);
  if (await organizationNamed(env, name).putWebhook(name, webhook)) return document(status, webhookResource(webhook));
  return refused("/data", `the organization has ${MAX_WEBHOOKS} notification configurations: delete one`);
}

/** Sends a verification. What is wrong when the webhook does not answer it with success. */
async function verify({ env, installation, params }: AnyCall, webhook: SealedWebhook): Promise<Failure | null> {
  const attempt = await sendToWebhook(env, installation.keys, webhook, `${webhook.id}.verification`, {
    payload_version: 1,
    notification_configuration_id: webhook.id,
    organization_name: params.organization,
    notifications: [{ message: `Verification of ${webhook.name}`, trigger: "verification" }],
  });
  if (attempt.delivered) return null;
  const why = attempt.error ?? `it answered ${attempt.status}`;
  const pointer = "/data/attributes/url";
  return { code: "invalid_document", message: `url did not take the verification: ${why}`, pointer };
}

async function find({ env, params }: AnyCall): Promise<SealedWebhook | null> {
  const name = params.organization ?? "";
  const webhooks = await organizationNamed(env, name).webhooks(name);
  return webhooks?.find(({ id }) => id === params.id) ?? null;
}

/** A webhook as it is shown: its token never is. */
function webhookResource(webhook: Webhook): Record<string, unknown> {
  return {
    id: webhook.id,
    type: TYPE,
    attributes: {
      name: webhook.name,
      url: webhook.url,
      enabled: webhook.enabled,
      token: null,
      triggers: webhook.triggers,
      "destination-type": "generic",
      "created-at": formatRfc3339(webhook.createdAt),
    },
  };
}

function deliveryResource(delivery: Delivery): Record<string, unknown> {
  return {
    id: `${delivery.tokenId}.${delivery.trigger}`,
    type: "notification-deliveries",
    attributes: {
      trigger: delivery.trigger,
      state: delivery.state,
      attempts: delivery.attempts,
      "sent-at": formatRfc3339(delivery.sentAt),
      code: delivery.status,
      error: delivery.error,
    },
    relationships: {
      team: { data: { id: delivery.teamId, type: "teams" } },
      token: { data: { id: delivery.tokenId, type: "authentication-tokens" } },
    },
  };
}

function document(status: number, data: unknown): Result<Reply, never> {
  return ok({ kind: "plain", status, body: { data } });
}
