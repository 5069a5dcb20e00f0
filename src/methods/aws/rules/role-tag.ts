import { formatRfc3339, type Ms, type Seconds } from "../../../base/clock.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import { fromBase64, randomBytes, toBase64 } from "../../../crypto/bytes.ts";
import { normalizePolicyName } from "../../../policy/policy-names.ts";
import { view } from "../../../wire/view.ts";
import { fromBase64Text } from "../encoding.ts";
import type { CloudRole } from "./role.ts";

/** The contents of a role tag, which narrows the rights of a role for an instance. */
export type RoleTag = {
  /** Base64 of 8 random bytes. Tags with equal restrictions differ by it, so each can be denied alone. */
  readonly nonce: string;
  /** In lower case. */
  readonly role: string;
  /** In lower case, sorted, unique. Null for all policies of the role; an empty list for only `default`. */
  readonly policies: readonly string[] | null;
  /** 0 for no limit. */
  readonly maxTtlSeconds: Seconds;
  /** The only instance that may use the tag; null for all instances that satisfy the role. */
  readonly instanceId: string | null;
  readonly allowInstanceMigration: boolean;
  readonly disallowReauthentication: boolean;
};

/** The cloud's limit for the value of a tag. */
const MAX_TAG_VALUE_BYTES = 255;

const VERSION = "v1";
const NONCE_BYTES = 8;

/** The characters that the cloud allows in a tag, except the separators of items and policies. */
const POLICY = /^[a-z0-9+\-=._/@]+$/;
const ROLE = /^[a-z0-9_][a-z0-9_.-]*$/;
const TAG_INSTANCE_ID = /^[a-z0-9-]+$/;
const SECONDS = /^[1-9]\d{0,9}$/;

export function newTagNonce(): string {
  return toBase64(randomBytes(NONCE_BYTES));
}

/** Policy names in the form of a tag: lower case, sorted, unique, not empty. */
export function canonicalPolicies(policies: readonly string[]): string[] {
  const names = policies.map(normalizePolicyName).filter((policy) => policy !== "");
  return [...new Set(names)].sort();
}

/**
 * The signed text of a tag. There is exactly one for each tag:
 * `v1:<nonce>:r=<role>:d=<bool>:m=<bool>[:p=<policy>,...][:i=<instance>][:t=<seconds>]`.
 */
function formatRoleTag(tag: RoleTag): string {
  const items = [
    VERSION,
    tag.nonce,
    `r=${tag.role}`,
    `d=${tag.disallowReauthentication}`,
    `m=${tag.allowInstanceMigration}`,
  ];
  if (tag.policies !== null) items.push(`p=${tag.policies.join(",")}`);
  if (tag.instanceId !== null) items.push(`i=${tag.instanceId}`);
  if (tag.maxTtlSeconds > 0) items.push(`t=${tag.maxTtlSeconds}`);
  return items.join(":");
}

/**
 * Reads the signed text of a tag. Only the text of `formatRoleTag` is accepted: if a tag had two spellings, one of them
 * would pass a deny list with the other. Messages are those of the reference's AWS method (role tags).
 */
function parseRoleTagText(text: string): Result<RoleTag> {
  const [version, nonce = "", ...items] = text.split(":");
  if (version !== VERSION) return refuse("invalid role tag version");
  if (fromBase64(nonce)?.length !== NONCE_BYTES) return refuse("invalid tag");

  const values = new Map<string, string>();
  for (const item of items) {
    const name = item.slice(0, 2);
    if (!/^[rdmpit]=$/.test(name)) return refuse("unrecognized item in tag");
    values.set(name, item.slice(2));
  }
  const role = values.get("r=");
  if (role === undefined) return refuse("missing role name");
  const policies = values.get("p=");
  const tag: RoleTag = {
    nonce,
    role,
    policies: policies === undefined ? null : policies.split(",").filter((policy) => policy !== ""),
    maxTtlSeconds: Number(values.get("t=") ?? "0"),
    instanceId: values.get("i=") ?? null,
    allowInstanceMigration: values.get("m=") === "true",
    disallowReauthentication: values.get("d=") === "true",
  };
  if (roleTagProblem(tag) !== null || formatRoleTag(tag) !== text) {
    return refuse("role tag is not in its canonical form");
  }
  return ok(tag);
}

/** Returns why a tag can't be written as text, or null. */
export function roleTagProblem(tag: RoleTag): string | null {
  const { policies, maxTtlSeconds, instanceId } = tag;
  if (!ROLE.test(tag.role)) return "role name can't stand in a role tag";
  if (policies?.some((policy) => !POLICY.test(policy))) {
    return "a policy in a role tag may only hold letters, digits and + - = . _ / @";
  }
  if (policies !== null && canonicalPolicies(policies).join() !== policies.join()) {
    return "policies in a role tag must be in lower case, sorted and unique";
  }
  if (instanceId !== null && !TAG_INSTANCE_ID.test(instanceId)) return "instance_id can't stand in a role tag";
  if (maxTtlSeconds !== 0 && !SECONDS.test(String(maxTtlSeconds))) return "max_ttl can't stand in a role tag";
  if (tag.allowInstanceMigration && tag.disallowReauthentication) {
    return "cannot set both disallow_reauthentication and allow_instance_migration";
  }
  return null;
}

/** True when all policies are policies of the role, in any letter case. */
export function isSubsetOfRole(policies: readonly string[], rolePolicies: readonly string[]): boolean {
  const allowed = new Set(canonicalPolicies(rolePolicies));
  return canonicalPolicies(policies).every((policy) => allowed.has(policy));
}

/** A tag whose signature is not verified yet. The role in the tag has the key. */
export type UnverifiedTag = {
  readonly tag: RoleTag;
  /** The whole value. Each tag has only one, so it is the key in the deny list. */
  readonly value: string;
  readonly signed: string;
  readonly mac: Uint8Array<ArrayBuffer>;
};

const MAC_BYTES = 32;

/** Creates the value of a tag: its text, and an HMAC-SHA256 of the text with the role's key. */
export async function signRoleTag(tag: RoleTag, key: string): Promise<Result<string>> {
  const problem = roleTagProblem(tag);
  if (problem !== null) return refuse(problem);
  const text = formatRoleTag(tag);
  const mac = await crypto.subtle.sign("HMAC", await importKey(key), encode(text));
  const value = `${text}:${toBase64(new Uint8Array(mac))}`;
  if (value.length > MAX_TAG_VALUE_BYTES) {
    return refuse(`role tag 'value' exceeding the limit of ${MAX_TAG_VALUE_BYTES} characters`);
  }
  return ok(value);
}

/** Reads the value of a role tag. Refuses (400) a malformed one. Does not verify its MAC. */
export function readTagValue(value: string): Result<UnverifiedTag> {
  const end = value.lastIndexOf(":");
  if (end < 0 || value.length > MAX_TAG_VALUE_BYTES) return refuse("invalid tag");
  const mac = fromBase64(value.slice(end + 1));
  if (mac?.length !== MAC_BYTES) return refuse("invalid tag");
  const signed = value.slice(0, end);
  const tag = parseRoleTagText(signed);
  return tag.ok ? ok({ tag: tag.value, value, signed, mac }) : tag;
}

/** Verifies a tag with the key of its role, in constant time. */
export async function verifyRoleTag(unverified: UnverifiedTag, key: string): Promise<Result<RoleTag>> {
  const genuine = await crypto.subtle.verify("HMAC", await importKey(key), unverified.mac, encode(unverified.signed));
  return genuine ? ok(unverified.tag) : refuse("role tag signature verification failed");
}

/** The tag value in a path of the deny list: plain or in base64. A plain value has colons, so it is never base64. */
export function tagValueOfPath(text: string): string {
  return fromBase64Text(text) ?? text;
}

function importKey(key: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function encode(text: string): ReturnType<TextEncoder["encode"]> {
  return new TextEncoder().encode(text);
}

export interface DenyEntry {
  readonly createdAt: Ms;
  /** When the last token of a login with the tag has expired. The tag itself does not expire. */
  readonly expiresAt: Ms;
  readonly roleId: string;
}

/** True when a denied tag would be accepted without its entry: the role that signed it exists and is the same one. */
export function isStillGenuine(
  tag: string,
  entry: DenyEntry,
  roleNamed: (name: string) => Pick<CloudRole, "roleId"> | null,
): boolean {
  const read = readTagValue(tag);
  const role = read.ok ? roleNamed(read.value.tag.role) : null;
  return role !== null && role.roleId === entry.roleId;
}

export const DENY_VIEW = view<DenyEntry>({
  creation_time: ["string", (entry) => formatRfc3339(entry.createdAt)],
  expiration_time: ["string", (entry) => formatRfc3339(entry.expiresAt)],
});
