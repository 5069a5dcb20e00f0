import type { CallContext } from "../../../auth/route.ts";
import { currentTime } from "../../../base/clock.ts";
import type { Failure } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import type { Keys } from "../../../crypto/key-ring.ts";
import { organizationNamed } from "../../../team/find.ts";
import type { SealedWebhook } from "../../../team/notices/record.ts";
import { moveSecret, readWebhookUrl, sealSecret, sendToWebhook } from "../../../team/notices/send.ts";
import { MAX_WEBHOOKS } from "../../../team/notices/webhook-store.ts";
import type { Values } from "../../../wire/fields.ts";
import { refused } from "../../json-api/document.ts";
import type { WEBHOOK_CHANGE } from "./fields.ts";

type WebhookCall = Pick<CallContext<unknown, unknown>, "env" | "installation" | "params">;

/** The webhook that the path names, or null. */
export async function findWebhook({ env, params }: WebhookCall): Promise<SealedWebhook | null> {
  const name = params.organization ?? "";
  const webhooks = await organizationNamed(env, name).webhooks(name);
  return webhooks?.find(({ id }) => id === params.id) ?? null;
}

/**
 * Stores a webhook with changes. One that is switched on has to answer first; what others did to it meanwhile holds.
 *
 * @param before as it was read; of revision 0 when it is new.
 */
export async function storeWebhook(
  context: WebhookCall,
  before: SealedWebhook,
  changes: Values<typeof WEBHOOK_CHANGE>,
): Promise<Result<SealedWebhook, Failure>> {
  const { env, installation, params } = context;
  const name = params.organization ?? "";
  const url = readWebhookUrl(env, changes.url ?? before.url);
  if (!url.ok) return refused("/data/attributes/url", url.error.replace("target", "url"));
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
  if (!(await organizationNamed(env, name).show(name))) return err({ code: "not_found" });
  const problem = enabled ? await verifyWebhook(context, webhook) : null;
  if (problem) return err(problem);
  const stored = await organizationNamed(env, name).putWebhook(name, webhook);
  switch (stored) {
    case "stored":
      return ok(webhook);
    case "full":
      return refused("/data", `the organization has ${MAX_WEBHOOKS} notification configurations: delete one`);
    case "gone":
      return err({ code: "not_found" });
    case "changed":
      return refused("/data", "the notification configuration was changed by another request meanwhile: try again");
  }
}

/**
 * The sealed key of the signatures of a webhook that goes to `url` from now on.
 *
 * @param token undefined: the key stays. null: there is none any more.
 */
async function secretFor(
  keys: Keys,
  before: SealedWebhook,
  url: string,
  token: string | null | undefined,
): Promise<Result<SealedWebhook["secret"], Failure>> {
  if (token === null) return ok(null);
  if (token !== undefined) return ok(await sealSecret(keys, { id: before.id, url }, token));
  if (before.secret === null || url === before.url) return ok(before.secret);
  const moved = await moveSecret(keys, before, url, before.secret);
  return moved ? ok(moved) : refused("/data/attributes/token", "the token does not open any more: send it again");
}

/** Sends a verification. @returns why the webhook did not take it; null when it did. */
export async function verifyWebhook(
  { env, installation, params }: WebhookCall,
  webhook: SealedWebhook,
): Promise<Failure | null> {
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
