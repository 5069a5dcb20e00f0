import { toHex } from "../../../crypto/bytes.ts";
import { DEFAULT_MOUNT_CONFIG, type Mount, type MountConfig, SYSTEM_TTL_SECONDS } from "../../../system/mount.ts";
import { inner, type ViewFields, view } from "../../../wire/view.ts";

/** An auth mount, or a fixed mount, which every installation has. */
interface ShownMount extends Pick<Mount, "type" | "description" | "accessor" | "uuid" | "local"> {
  readonly sealWrap?: boolean;
  /** Without a type of tokens for a mount that issues none. */
  readonly config: Omit<MountConfig, "tokenType"> & Partial<Pick<MountConfig, "tokenType">>;
}

/** A mount at its path, with a slash at the end. */
export type MountAtPath = readonly [path: string, mount: ShownMount];

const SETTINGS: ViewFields<ShownMount> = {
  default_lease_ttl: ["integer", ({ config }) => config.defaultLeaseTtl],
  max_lease_ttl: ["integer", ({ config }) => config.maxLeaseTtl],
  force_no_cache: ["boolean", () => false],
  "token_type?": ["string", ({ config }) => config.tokenType],
  "listing_visibility?": ["string", ({ config }) => config.listingVisibility || undefined],
  "passthrough_request_headers?": [["string"], ({ config }) => unlessEmpty(config.passthroughRequestHeaders)],
  "allowed_response_headers?": [["string"], ({ config }) => unlessEmpty(config.allowedResponseHeaders)],
  "audit_non_hmac_request_keys?": [["string"], ({ config }) => unlessEmpty(config.auditNonHmacRequestKeys)],
  "audit_non_hmac_response_keys?": [["string"], ({ config }) => unlessEmpty(config.auditNonHmacResponseKeys)],
  "location_hint?": ["string", ({ config }) => config.locationHint || undefined],
};

export const MOUNT_VIEW = view<ShownMount>({
  type: ["string", ({ type }) => type],
  description: ["string", ({ description }) => description],
  accessor: ["string", ({ accessor }) => accessor],
  uuid: ["string", ({ uuid }) => uuid],
  local: ["boolean", ({ local = false }) => local],
  seal_wrap: ["boolean", ({ sealWrap = false }) => sealWrap],
  external_entropy_access: ["boolean", () => false],
  options: ["object | null", ({ type }) => optionsOf(type)],
  plugin_version: ["string", () => ""],
  running_plugin_version: ["string", () => ""],
  running_sha256: ["string", () => ""],
  config: inner(SETTINGS),
});

export function shownMounts(mounts: readonly MountAtPath[]): Record<string, unknown> {
  return Object.fromEntries(mounts.map(([path, mount]) => [path, MOUNT_VIEW.show(mount)]));
}

/** The settings of a mount, with the lifetimes of the system where it sets none. */
export const TUNE_VIEW = view<ShownMount>({
  description: ["string", ({ description }) => description],
  ...SETTINGS,
  default_lease_ttl: ["integer", ({ config }) => config.defaultLeaseTtl || SYSTEM_TTL_SECONDS],
  max_lease_ttl: ["integer", ({ config }) => config.maxLeaseTtl || SYSTEM_TTL_SECONDS],
});

/** Types of mounts that exist without being enabled. */
const FIXED_TYPES: ReadonlySet<string> = new Set(["token", "cubbyhole", "identity", "system"]);

/** The options of a mount. For an auth mount that was enabled, clients expect an object. */
export function optionsOf(type: string): Record<string, never> | null {
  return FIXED_TYPES.has(type) ? null : {};
}

/**
 * Returns the fixed mounts: those of every installation besides its auth methods. Their ids are computed from the id of
 * the installation, so they never change, although they are not stored.
 */
export async function fixedMounts(clusterId: string): Promise<readonly MountAtPath[]> {
  const [cubbyhole, identity, system] = await Promise.all([
    fixedMount(clusterId, "cubbyhole", "per-token private secret storage", []),
    fixedMount(clusterId, "identity", "identity store", ["Authorization"]),
    fixedMount(clusterId, "system", "system endpoints used for control, policy and debugging", ["Accept"]),
  ]);
  return [
    ["cubbyhole/", { ...cubbyhole, local: true }],
    ["identity/", identity],
    ["sys/", { ...system, sealWrap: true }],
  ];
}

async function fixedMount(
  clusterId: string,
  type: string,
  description: string,
  passthroughRequestHeaders: readonly string[],
): Promise<ShownMount> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${clusterId}/${type}`));
  const hex = toHex(new Uint8Array(digest));
  // The version and variant digits of a UUID made from a hash (RFC 9562, version 8).
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const { tokenType: _, ...config } = { ...DEFAULT_MOUNT_CONFIG, passthroughRequestHeaders };
  return { type, description, accessor: `${type}_${hex.slice(-8)}`, uuid, config };
}

function unlessEmpty(list: readonly string[]): readonly string[] | undefined {
  return list.length > 0 ? list : undefined;
}
