import { ok, type Result, refuse } from "../../../base/result.ts";
import { fromBase64, randomBytes, toBase64 } from "../../../crypto/bytes.ts";
import { view } from "../../../wire/view.ts";
import { fromBase64Text } from "../encoding.ts";
import type { CloudRole } from "./role.ts";

/** The contents of a role tag: an instance with the tag may log in with fewer rights than its role gives. */
export type RoleTag = {
  /** Base64 of 8 random bytes: two tags with the same restrictions differ, and can be denied one by one. */
  readonly nonce: string;
  /** In lower case. */
  readonly role: string;
  /** In lower case, sorted, unique. Null leaves the role's policies; an empty list gives only `default`. */
  readonly policies: readonly string[] | null;
  /** 0 sets no limit. */
  readonly maxTtlSeconds: number;
  /** The only instance that may use the tag; null leaves it open to all that satisfy the role. */
  readonly instanceId: string | null;
  readonly allowInstanceMigration: boolean;
  readonly disallowReauthentication: boolean;
};

/** The cloud's limit on a tag's value. */
const MAX_TAG_VALUE_BYTES = 255;

const VERSION = "v1";
const NONCE_BYTES = 8;

/** Characters that the cloud allows in a tag, without the two that separate items and policies. */
const POLICY = /^[a-z0-9+\-=._/@]+$/;
const ROLE = /^[a-z0-9_][a-z0-9_.-]*$/;
const INSTANCE_ID = /^[a-z0-9-]+$/;
const SECONDS = /^[1-9]\d{0,9}$/;

/** A nonce for a new tag. */
export function newTagNonce(): string {
  return toBase64(randomBytes(NONCE_BYTES));
}

/** Policy names as a tag holds them: lower case, sorted, unique, without empty ones. */
export function canonicalPolicies(policies: readonly string[]): string[] {
  const names = policies.map((policy) => policy.trim().toLowerCase()).filter((policy) => policy !== "");
  return [...new Set(names)].sort();
}

/**
 * The text that is signed: items in a fixed order, each in one spelling. There is exactly one text for a tag:
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
 * Reads the signed text of a tag. Only the one spelling that `formatRoleTag` gives is accepted: a tag that could be
 * spelled in two ways would pass a deny list that holds the other one. Messages are those of the reference's AWS method (role tags).
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

/** Why a tag can't be written, or null. */
function roleTagProblem(tag: RoleTag): string | null {
  const { policies, maxTtlSeconds, instanceId } = tag;
  if (!ROLE.test(tag.role)) return "role name can't stand in a role tag";
  if (policies?.some((policy) => !POLICY.test(policy))) {
    return "a policy in a role tag may only hold letters, digits and + - = . _ / @";
  }
  if (policies !== null && canonicalPolicies(policies).join() !== policies.join()) {
    return "policies in a role tag must be in lower case, sorted and unique";
  }
  if (instanceId !== null && !INSTANCE_ID.test(instanceId)) return "instance_id can't stand in a role tag";
  if (maxTtlSeconds !== 0 && !SECONDS.test(String(maxTtlSeconds))) return "max_ttl can't stand in a role tag";
  if (tag.allowInstanceMigration && tag.disallowReauthentication) {
    return "cannot set both disallow_reauthentication and allow_instance_migration";
  }
  return null;
}

/** The login that a tag is applied to. */
export type TaggedLogin = {
  /** The role's name, in lower case. */
  readonly role: string;
  readonly rolePolicies: readonly string[];
  readonly instanceId: string;
};

/** Whether every policy is one of the role's, in any casing. */
export function isSubsetOfRole(policies: readonly string[], rolePolicies: readonly string[]): boolean {
  const allowed = new Set(canonicalPolicies(rolePolicies));
  return canonicalPolicies(policies).every((policy) => allowed.has(policy));
}

/** Why a genuine tag does not fit a login, or null when it does. Messages are those of the reference's AWS method (login). */
export function tagRefusal(tag: RoleTag, login: TaggedLogin): string | null {
  if (tag.role !== login.role) return "role on the tag is not matching the role supplied";
  if (tag.instanceId !== null && tag.instanceId !== login.instanceId.toLowerCase()) {
    return "role tag is being used by an unauthorized instance";
  }
  if (!isSubsetOfRole(tag.policies ?? [], login.rolePolicies)) {
    return "policies on the role tag must be subset of policies on the role";
  }
  return null;
}

/** A tag value whose signature is not verified yet: its key belongs to the role that the value names. */
export type UnverifiedTag = {
  readonly tag: RoleTag;
  /** The whole value. There is only one for this tag, so it can key the deny list. */
  readonly value: string;
  readonly signed: string;
  readonly mac: Uint8Array<ArrayBuffer>;
};

const MAC_BYTES = 32;

/** A key for the tags of a new role: a UUID, whose text is the key. */
export function newTagKey(): string {
  return crypto.randomUUID();
}

/** Makes the value of a tag: its text and an HMAC-SHA256 of the text under the role's key. */
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

/** Reads a tag value in its one spelling. */
export function readTagValue(value: string): Result<UnverifiedTag> {
  const end = value.lastIndexOf(":");
  if (end < 0 || value.length > MAX_TAG_VALUE_BYTES) return refuse("invalid tag");
  const mac = fromBase64(value.slice(end + 1));
  if (mac?.length !== MAC_BYTES) return refuse("invalid tag");
  const signed = value.slice(0, end);
  const tag = parseRoleTagText(signed);
  return tag.ok ? ok({ tag: tag.value, value, signed, mac }) : tag;
}

/** Checks the signature of a tag with the key of the role that it names. The comparison takes constant time. */
export async function verifyRoleTag(unverified: UnverifiedTag, key: string): Promise<Result<RoleTag>> {
  const genuine = await crypto.subtle.verify("HMAC", await importKey(key), unverified.mac, encode(unverified.signed));
  return genuine ? ok(unverified.tag) : refuse("role tag signature verification failed");
}

/** The tag value of a deny list path: supplied as it is or as base64. A tag holds colons, so it never is base64. */
export function tagValueOfPath(text: string): string {
  return fromBase64Text(text) ?? text;
}

function importKey(key: string): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** A role tag that may not be used any more. Times in ms. */
export interface DenyEntry {
  readonly createdAt: number;
  /** When the last token that the tag gave has ended. The tag itself never ends. */
  readonly expiresAt: number;
  /** The id of the role whose key signed the tag. */
  readonly roleId: string;
}

/**
 * Whether a denied tag could give a token again without its entry: while the role whose key signed it exists. A role
 * that is created again under the same name has another key.
 */
export function isStillGenuine(
  tag: string,
  entry: DenyEntry,
  roleNamed: (name: string) => Pick<CloudRole, "roleId"> | null,
): boolean {
  const read = readTagValue(tag);
  const role = read.ok ? roleNamed(read.value.tag.role) : null;
  return role !== null && role.roleId === entry.roleId;
}

/** What a read shows. */
export const DENY_VIEW = view<DenyEntry>({
  creation_time: ["string", (entry) => new Date(entry.createdAt).toISOString()],
  expiration_time: ["string", (entry) => new Date(entry.expiresAt).toISOString()],
});
