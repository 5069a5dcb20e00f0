import { parseDuration } from "../../../base/duration.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { DEFAULT_MOUNT_CONFIG } from "../../../system/mount.ts";
import type { MountChange } from "../../../system/mount-rules.ts";
import { commaList, fieldSchema, optionalText, text, unread, type Values } from "../../../wire/fields.ts";

/** Settings of the reference that clients send with every mount; Grove does not use them. */
export const UNUSED_SETTINGS = {
  force_no_cache: unread("boolean").describe("Without effect"),
  options: unread("object").describe("Without effect"),
  plugin_name: unread("string").describe("Without effect"),
  plugin_version: unread("string").describe("Without effect"),
};

/** What can be set when a mount is enabled, and when it is tuned. */
export const SETTINGS = {
  default_lease_ttl: text().describe("How long tokens live unless the login says else; `system` for the system's time"),
  max_lease_ttl: text().describe("How long tokens live at most; `system` for the system's time"),
  token_type: optionalText().describe("The kind of tokens: `default-service`, `default-batch`, `service` or `batch`"),
  listing_visibility: optionalText().describe("`unauth`: listed for user interfaces before login"),
  passthrough_request_headers: commaList().describe("Kept and shown"),
  allowed_response_headers: commaList().describe("Kept and shown"),
  audit_non_hmac_request_keys: commaList().describe("Fields that the audit log shows as they are"),
  audit_non_hmac_response_keys: commaList().describe("Kept and shown"),
  location_hint: optionalText().describe(
    "Where tokens are stored: a location hint of Cloudflare's; empty for near the client",
  ),
};

/** The settings as a field of the request that enables a mount. */
export const MOUNT_CONFIG = fieldSchema({ ...SETTINGS, ...UNUSED_SETTINGS });

/** What the settings of a request change. `description` is null when it stays. */
export function readSettings(
  settings: Values<typeof MOUNT_CONFIG>,
  description: string | null,
): Result<MountChange, Failure> {
  const defaultLeaseTtl = readTtl(settings.default_lease_ttl);
  if (defaultLeaseTtl === undefined) return err(invalid("unable to parse default TTL"));
  const maxLeaseTtl = readTtl(settings.max_lease_ttl);
  if (maxLeaseTtl === undefined) return err(invalid("unable to parse max TTL"));
  return ok({
    description,
    defaultLeaseTtl,
    maxLeaseTtl,
    tokenType: settings.token_type === "" ? DEFAULT_MOUNT_CONFIG.tokenType : settings.token_type,
    listingVisibility: settings.listing_visibility,
    passthroughRequestHeaders: settings.passthrough_request_headers,
    allowedResponseHeaders: settings.allowed_response_headers,
    auditNonHmacRequestKeys: settings.audit_non_hmac_request_keys,
    auditNonHmacResponseKeys: settings.audit_non_hmac_response_keys,
    locationHint: settings.location_hint,
  });
}

/** Seconds; null when nothing was sent; undefined for what is no lifetime. `system` goes back to the system's. */
function readTtl(sent: string): number | null | undefined {
  if (sent === "") return null;
  if (sent === "system") return 0;
  const parsed = parseDuration(sent);
  return parsed.ok && parsed.value >= 0 ? parsed.value : undefined;
}
