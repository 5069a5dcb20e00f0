import { parseDuration } from "../../../base/duration.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { DEFAULT_MOUNT_CONFIG, type MountChange } from "../../../system/mount.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { list, sent, text, unread } from "../../../wire/fields.ts";

/** Settings that clients of the reference send with every mount. Grove does not use them. */
export const UNUSED_SETTINGS = {
  force_no_cache: unread("boolean").describe("Without effect"),
  options: unread("object").describe("Without effect"),
  plugin_name: unread("string").describe("Without effect"),
  plugin_version: unread("string").describe("Without effect"),
};

/** Settings that are set when a mount is enabled, and changed when it is tuned. */
export const SETTINGS = {
  default_lease_ttl: text().describe("Lifetime of tokens whose login sets none; `system`: the system's default"),
  max_lease_ttl: text().describe("Maximum lifetime of tokens; `system`: the system's maximum"),
  token_type: sent(text()).describe("Type of tokens: `default-service`, `default-batch`, `service` or `batch`"),
  listing_visibility: sent(text()).describe("`unauth`: user interfaces can list the mount before login"),
  passthrough_request_headers: sent(list()).describe("Stored and shown, without effect"),
  allowed_response_headers: sent(list()).describe("Stored and shown, without effect"),
  audit_non_hmac_request_keys: sent(list()).describe("Fields that the audit log contains in clear text"),
  audit_non_hmac_response_keys: sent(list()).describe("Stored and shown, without effect"),
  location_hint: sent(text()).describe("Cloudflare's location hint for tokens; empty: near the client"),
};

export const MOUNT_CONFIG = fieldSchema({ ...SETTINGS, ...UNUSED_SETTINGS });

/** @param description undefined: it is not changed. */
export function readSettings(
  settings: Values<typeof MOUNT_CONFIG>,
  description: string | undefined,
): Result<MountChange> {
  const defaultLeaseTtl = readTtl(settings.default_lease_ttl);
  if (defaultLeaseTtl === undefined) return refuse("unable to parse default TTL");
  const maxLeaseTtl = readTtl(settings.max_lease_ttl);
  if (maxLeaseTtl === undefined) return refuse("unable to parse max TTL");
  return ok({
    description: description ?? null,
    defaultLeaseTtl,
    maxLeaseTtl,
    tokenType: settings.token_type === "" ? DEFAULT_MOUNT_CONFIG.tokenType : (settings.token_type ?? null),
    listingVisibility: settings.listing_visibility ?? null,
    passthroughRequestHeaders: settings.passthrough_request_headers ?? null,
    allowedResponseHeaders: settings.allowed_response_headers ?? null,
    auditNonHmacRequestKeys: settings.audit_non_hmac_request_keys ?? null,
    auditNonHmacResponseKeys: settings.audit_non_hmac_response_keys ?? null,
    locationHint: settings.location_hint ?? null,
  });
}

/** Reads a lifetime: null when none was sent, 0 for `system`, undefined for an invalid value. */
function readTtl(sent: string): number | null | undefined {
  if (sent === "") return null;
  if (sent === "system") return 0;
  const parsed = parseDuration(sent);
  return parsed.ok && parsed.value >= 0 ? parsed.value : undefined;
}
