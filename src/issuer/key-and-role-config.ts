import type { Seconds } from "../base/clock.ts";
import { hasUnprintable } from "../base/misleading-characters.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { onlySent } from "../wire/fields.ts";
import { isName } from "../wire/path-segment.ts";

/** Algorithms of signing keys, by their names in JWS. No HMAC: a verifier must not be able to sign. */
export const SIGNING_ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** The default key. It is created when it is first used, and can't be deleted. */
export const DEFAULT_KEY = "default";

/** The settings of a named signing key. */
export interface KeyConfig {
  readonly algorithm: SigningAlgorithm;
  readonly rotationPeriod: Seconds;
  /** How long the public half is published after the key's last signature. */
  readonly verificationTtl: Seconds;
  /** Client ids of roles that may sign with it; `*` for all. */
  readonly allowedClientIds: readonly string[];
}

/** The settings of a role, for its tokens. */
export interface IssuerRole {
  readonly key: string;
  /** JSON with expressions for values of the entity; "" for none. */
  readonly template: string;
  readonly ttl: Seconds;
  /** The audience of its tokens. */
  readonly clientId: string;
}

/** Fields of a write; undefined keeps the stored value, or takes the default of a new key or role. */
type Write<T> = { readonly [Field in keyof T]?: T[Field] | undefined };
export type KeyWrite = Write<KeyConfig>;
export type RoleWrite = Write<IssuerRole>;

const DAY_SECONDS = 86_400;
const MIN_ROTATION_SECONDS = 60;
/** Maximum verification TTL, in rotation periods. The bound is the reference's. */
const MAX_VERIFICATION_ROTATIONS = 10;
/** Maximum rotation period: an alarm must be able to be set for it. */
const MAX_ROTATION_SECONDS = 10 * 366 * DAY_SECONDS;

export const NEW_KEY: KeyConfig = {
  algorithm: "RS256",
  rotationPeriod: DAY_SECONDS,
  verificationTtl: DAY_SECONDS,
  allowedClientIds: [],
};

const NEW_ROLE: IssuerRole = { key: "", template: "", ttl: DAY_SECONDS, clientId: "" };

const MAX_NAME_LENGTH = 128;
const MAX_CLIENT_ID_LENGTH = 256;
const MAX_CLIENT_IDS = 1000;
const MAX_TEMPLATE_LENGTH = 16_384;

/** The problem with the name of a key or a role, or null. The form of names is the reference's. */
export function issuerNameProblem(name: string): string | null {
  if (name.length > MAX_NAME_LENGTH) return `the name must not be longer than ${MAX_NAME_LENGTH} characters`;
  return isName(name)
    ? null
    : "the name must have letters, digits, dots, dashes and underscores, and no dot or dash at its ends";
}

/** Returns the problem with the fields of a write of a key, whatever is stored, or null. Messages as of `planKey`. */
export function keyWriteProblem({
  rotationPeriod,
  verificationTtl = 0,
  allowedClientIds = [],
}: KeyWrite): string | null {
  if (rotationPeriod !== undefined && rotationPeriod < MIN_ROTATION_SECONDS) {
    return "rotation_period must be at least one minute";
  }
  if (rotationPeriod !== undefined && rotationPeriod > MAX_ROTATION_SECONDS) {
    return "rotation_period must be at most ten years";
  }
  if (verificationTtl < 0) return NEGATIVE_TTL;
  if (allowedClientIds.length > MAX_CLIENT_IDS) {
    return `allowed_client_ids must not have more than ${MAX_CLIENT_IDS} entries`;
  }
  return allowedClientIds.map(clientIdProblem).find((found) => found !== null) ?? null;
}

const NEGATIVE_TTL = "verification_ttl cannot be negative";

/**
 * The settings of a key after a write, or a refusal (400). Messages are the reference's (identity/oidc/key).
 * `longestRoleTtl`: of the tokens of roles that use the key.
 */
export function planKey(existing: KeyConfig | null, write: KeyWrite, longestRoleTtl: Seconds): Result<KeyConfig> {
  const problem = keyWriteProblem(write);
  if (problem) return refuse(problem);
  const key: KeyConfig = { ...(existing ?? NEW_KEY), ...onlySent(write) };
  const ttlProblem = verificationTtlProblem(key.verificationTtl, key.rotationPeriod);
  if (ttlProblem) return refuse(ttlProblem);
  if (longestRoleTtl > key.verificationTtl) {
    return refuse(
      `unable to update the key because it is currently referenced by one or more roles with a token ttl greater than ${key.verificationTtl} seconds`,
    );
  }
  return ok(key);
}

/** Returns the problem with a verification TTL, or null. */
export function verificationTtlProblem(ttl: Seconds, rotationPeriod: Seconds): string | null {
  if (ttl < 0) return NEGATIVE_TTL;
  const isTooLong = ttl > MAX_VERIFICATION_ROTATIONS * rotationPeriod;
  return isTooLong ? `verification_ttl cannot be longer than ${MAX_VERIFICATION_ROTATIONS}x rotation_period` : null;
}

const KEY_REQUIRED = "the key parameter is required";

/** Returns what is wrong with a write of a role without a look at stored records, or null. `templateProblem` checks the template. */
export function roleWriteProblem({ key, ttl = 0, template = "", clientId = "" }: RoleWrite): string | null {
  if (key === "") return KEY_REQUIRED;
  if ((key ?? "").length > MAX_NAME_LENGTH) return `key must not be longer than ${MAX_NAME_LENGTH} characters`;
  if (ttl < 0) return "ttl cannot be negative";
  if (template.length > MAX_TEMPLATE_LENGTH) {
    return `template must not be longer than ${MAX_TEMPLATE_LENGTH} characters`;
  }
  return clientIdProblem(clientId);
}

/** The settings of a role after a write, or a refusal (400). The caller has checked the template. */
export function planRole(existing: IssuerRole | null, write: RoleWrite, newClientId: string): Result<IssuerRole> {
  const clientId = write.clientId || existing?.clientId || newClientId;
  const role: IssuerRole = { ...(existing ?? NEW_ROLE), ...onlySent(write), clientId };
  const problem = roleWriteProblem(write) ?? (role.key === "" ? KEY_REQUIRED : null);
  return problem ? refuse(problem) : ok(role);
}

/** True when the key allows the client id, or all ids. An empty list allows none. */
export function maySign(key: KeyConfig, clientId: string): boolean {
  return key.allowedClientIds.includes("*") || key.allowedClientIds.includes(clientId);
}

/**
 * Reads the issuer that an operator configures: a scheme, a host and an optional port. It has no path, since this
 * service appends its own. "" removes the configured issuer.
 */
export function readIssuer(text: string): Result<string> {
  if (text === "") return ok("");
  const url = URL.parse(text);
  if (url && /^https?:$/.test(url.protocol) && (url.origin === text || `${url.origin}/` === text))
    return ok(url.origin);
  return refuse(
    "invalid issuer, which must include only a scheme, host, and optional port (e.g. https://example.com:8200)",
  );
}

function clientIdProblem(id: string): string | null {
  if (id.length > MAX_CLIENT_ID_LENGTH) return `a client id must not be longer than ${MAX_CLIENT_ID_LENGTH} characters`;
  return hasUnprintable(id) ? "a client id must not contain control characters" : null;
}
