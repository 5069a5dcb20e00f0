import { toHex } from "../../../crypto/bytes.ts";
import { type Mount, SYSTEM_TTL_SECONDS } from "../../../system/mount.ts";
import type { Shape } from "../../../wire/shape.ts";

const SETTINGS_SHAPE = {
  default_lease_ttl: "integer",
  max_lease_ttl: "integer",
  force_no_cache: "boolean",
  "token_type?": "string",
  "listing_visibility?": "string",
  "passthrough_request_headers?": ["string"],
  "allowed_response_headers?": ["string"],
  "audit_non_hmac_request_keys?": ["string"],
  "audit_non_hmac_response_keys?": ["string"],
  "location_hint?": "string",
} as const satisfies Shape;

/** The shape of a mount. */
export const MOUNT_SHAPE = {
  type: "string",
  description: "string",
  accessor: "string",
  uuid: "string",
  local: "boolean",
  seal_wrap: "boolean",
  external_entropy_access: "boolean",
  options: "object | null",
  plugin_version: "string",
  running_plugin_version: "string",
  running_sha256: "string",
  config: SETTINGS_SHAPE,
} as const satisfies Shape;

/** The shape of the tuning of a mount. */
export const TUNE_SHAPE = {
  description: "string",
  ...SETTINGS_SHAPE,
  "not_before?": "string",
} as const satisfies Shape;

/** What reading shows of an auth mount. */
export function mountObject(mount: Mount): Record<string, unknown> {
  const { config } = mount;
  return {
    ...sharedFields(mount.type, mount.description, mount.accessor, mount.uuid),
    local: mount.local === true,
    options: optionsOf(mount.type),
    config: {
      default_lease_ttl: config.defaultLeaseTtl,
      max_lease_ttl: config.maxLeaseTtl,
      force_no_cache: false,
      token_type: config.tokenType,
      ...optionalSettings(mount),
    },
  };
}

/** The options of an auth mount. For a mount that an operator enabled clients expect an object, if only an empty one. */
export function optionsOf(type: string): Record<string, never> | null {
  return type === "token" ? null : {};
}

/** What reading shows of the tuning of an auth mount: the system's lifetimes where it sets none. */
export function tuneObject(mount: Mount): Record<string, unknown> {
  return {
    description: mount.description,
    default_lease_ttl: mount.config.defaultLeaseTtl || SYSTEM_TTL_SECONDS,
    max_lease_ttl: mount.config.maxLeaseTtl || SYSTEM_TTL_SECONDS,
    force_no_cache: false,
    token_type: mount.config.tokenType,
    ...optionalSettings(mount),
  };
}

/** What reading shows of the tuning of a mount of `fixedMounts`, which can't be tuned. */
export function fixedTuneObject({ description, config }: FixedMount): Record<string, unknown> {
  return { description, ...config, default_lease_ttl: SYSTEM_TTL_SECONDS, max_lease_ttl: SYSTEM_TTL_SECONDS };
}

interface FixedMount extends Record<string, unknown> {
  readonly description: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/**
 * The mounts that every installation has beside its auth methods, by path. Their ids come from the id of the
 * installation, so they stay what they are without being stored.
 */
export async function fixedMounts(clusterId: string): Promise<Record<string, FixedMount>> {
  const [cubbyhole, identity, system] = await Promise.all([
    fixedMount(clusterId, "cubbyhole", "per-token private secret storage"),
    fixedMount(clusterId, "identity", "identity store"),
    fixedMount(clusterId, "system", "system endpoints used for control, policy and debugging"),
  ]);
  return {
    "cubbyhole/": { ...cubbyhole, local: true },
    "identity/": {
      ...identity,
      config: { ...identity.config, passthrough_request_headers: ["Authorization"] },
    },
    "sys/": {
      ...system,
      seal_wrap: true,
      config: { ...system.config, passthrough_request_headers: ["Accept"] },
    },
  };
}

async function fixedMount(clusterId: string, type: string, description: string): Promise<FixedMount> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${clusterId}/${type}`));
  const hex = toHex(new Uint8Array(digest));
  // The version and variant digits of a UUID made from a hash (RFC 9562, version 8).
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return {
    ...sharedFields(type, description, `${type}_${hex.slice(-8)}`, uuid),
    config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
  };
}

function sharedFields(type: string, description: string, accessor: string, uuid: string) {
  return {
    type,
    description,
    accessor,
    uuid,
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    options: null,
    plugin_version: "",
    running_plugin_version: "",
    running_sha256: "",
  };
}

function optionalSettings({ config }: Mount): Record<string, unknown> {
  const lists = {
    passthrough_request_headers: config.passthroughRequestHeaders,
    allowed_response_headers: config.allowedResponseHeaders,
    audit_non_hmac_request_keys: config.auditNonHmacRequestKeys,
    audit_non_hmac_response_keys: config.auditNonHmacResponseKeys,
  };
  return {
    ...(config.listingVisibility !== "" && { listing_visibility: config.listingVisibility }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
    ...(config.locationHint && { location_hint: config.locationHint }),
  };
}
