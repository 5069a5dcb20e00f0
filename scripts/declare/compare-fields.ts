import { parseFlag } from "../../src/base/boolean.ts";
import { nameKey } from "../../src/base/case-folding.ts";
import { parseDuration } from "../../src/base/duration.ts";
import { decodePolicyText } from "../../src/policy/parse.ts";
import { SYSTEM_TTL_SECONDS } from "../../src/system/mount.ts";
import { parseCidr } from "../../src/token/rules/bound-cidrs.ts";
import { pairs, time } from "../../src/wire/fields.ts";
import { isMount } from "./declarable-paths.ts";
import type { DeclaredRequest } from "./declaration.ts";
import type { Json } from "./value-references.ts";

/** A field whose value is not the declared one. */
export interface FieldDifference {
  /** `object.field` for a field of an object. */
  readonly field: string;
  readonly declared: Json;
  /** undefined when the service has no value. */
  readonly current: unknown;
}

/** The result of comparing a declared request with the service's answer. */
export interface Compared {
  readonly differences: readonly FieldDifference[];
  /** Fields that no answer shows: they can't be compared. */
  readonly unread: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields that are written and never answered, or not to every caller (`OWN_PATHS`). */
const WRITE_ONLY: ReadonlySet<string> = new Set([
  ...["oidc_client_secret", "secret_key", "token_reviewer_jwt", "provider_secret", "role_id"],
  // What a write does, and not what the record has.
  ...["skip_jwks_validation", "cas", "ttl"],
  // Names that the path has too, or that have no effect.
  ...["role", "role_name", "cert_name", "account_id"],
  ...["plugin_name", "plugin_version", "options", "user_lockout_config"],
]);

/** Fields that are read at a path of their own, below the one that they are written with. */
export const OWN_PATHS: Readonly<Record<string, string>> = { role_id: "role-id" };

/** Fields that an empty text leaves as they are. */
const LEFT_WHEN_EMPTY: ReadonlySet<string> = new Set([
  ...["role_type", "callback_mode", "bound_claims_type", "alias_name_source", "client_id", "not_before"],
  ...["default_lease_ttl", "max_lease_ttl"],
]);

/** What the server answers for an empty value (0 in any form), or for a word. */
const DEFAULTS: Readonly<Record<string, { readonly word: string; readonly answers: readonly unknown[] }>> = {
  token_type: { word: "", answers: ["default", "default-service"] },
  interval: { word: "", answers: [1] },
  default_lease_ttl: { word: "system", answers: [SYSTEM_TTL_SECONDS, 0] },
  max_lease_ttl: { word: "system", answers: [SYSTEM_TTL_SECONDS, 0] },
};
/** Lists in which the word `default` stands for the server's own. */
const DEFAULT_LISTS = / (?:iam|ec2|vm)_metadata$/;
const DEFAULT_METADATA = ["account_id", "auth_type"];

/** Fields that the server keeps in lower case, after their paths and a blank. */
const LOWER_CASE =
  /(?:[ _]policies(?:_glob)?| default_role| allowed_entity_aliases| (?:iam|ec2|vm)_metadata|\/config\/certificate\/\S+ type)$/;

/** Fields with a time, which the server answers to the millisecond. */
const TIMES = / (?:config\.)?(?:not_before|expiration)$/;

/** Fields that the server keeps or answers with or without slashes around them, after their paths and a blank. */
const PATHS = /^sys\/quotas\/rate-limit\/\S+ path$/;
const URLS = /(?: oidc_discovery_url|^identity\/oidc\/config issuer)$/;

/** Names under which an answer may have a field of a request. Some are older names. */
const ALIASES: Readonly<Record<string, string>> = {
  policies: "token_policies",
  ttl: "token_ttl",
  max_ttl: "token_max_ttl",
  period: "token_period",
  explicit_max_ttl: "token_explicit_max_ttl",
  num_uses: "token_num_uses",
  bound_cidrs: "token_bound_cidrs",
  bound_cidr_list: "secret_id_bound_cidrs",
  ...{ rules: "policy", policy: "rules" },
};

/** Compares what a request declares with the answer to a read of its path. What it does not declare is left alone. */
export function compare({ path, data }: Pick<DeclaredRequest, "path" | "data">, current: Fields): Compared {
  const sent = Object.entries(data).filter(([, value]) => value !== null);
  const declared = sent.flatMap(([field, value]): [string, Json, unknown][] => {
    // Only the settings of a mount are written one by one. Any other object is replaced as a whole.
    if (field !== "config" || !isMount(path)) return [[field, value, answered(current, field)]];
    const config = isFields(current.config) ? current.config : {};
    return Object.entries(isFields(value) ? value : {}).map(([name, one]) => [
      `config.${name}`,
      one as Json,
      config[name],
    ]);
  });
  const isUnread = ([field, , value]: readonly [string, Json, unknown]) => WRITE_ONLY.has(field) && value === undefined;
  return {
    differences: declared
      .filter((one) => !isUnread(one) && !isLeft(one[0], one[1]) && !isSame(`${path} ${one[0]}`, one[1], one[2]))
      .map(([field, value, now]) => ({ field, declared: value, current: now })),
    unread: declared.filter(isUnread).map(([field]) => field),
  };
}

function answered(current: Fields, field: string): unknown {
  if (Object.hasOwn(current, field)) return current[field];
  const alias = Object.hasOwn(ALIASES, field) ? ALIASES[field] : undefined;
  return alias !== undefined && Object.hasOwn(current, alias) ? current[alias] : undefined;
}

/** True for an empty text that changes nothing. */
function isLeft(field: string, declared: Json): boolean {
  return declared === "" && LEFT_WHEN_EMPTY.has(nameIn(field));
}

/** The name of a field, without its path or the object that it is in. */
function nameIn(field: string): string {
  return /[^ .]*$/.exec(field)?.[0] ?? field;
}

/** Fields whose texts may be written in base64. */
const TEXTS_OF_POLICIES = / (?:policy|rules)$/;

/**
 * True when a value and the answer stand for the same: a duration and its seconds, a list and its items with commas
 * between, `a=b` and an object, nothing and the default.
 *
 * @param field with the path of its record and a blank before it; "" within an object.
 */
function isSame(field: string, declared: Json, current: unknown): boolean {
  if (typeof current === "boolean") return flagOf(declared) === current;
  if (isEmpty(current) && (isEmpty(declared) || declared === "false" || secondsOf(declared) === 0)) return true;
  if (isDefault(field, declared, current)) return true;
  if (TIMES.test(field)) return timeOf(declared) === timeOf(current);
  if (Array.isArray(current)) return isSameList(field, listOf(declared), current);
  if (isFields(current) && !isFields(declared)) {
    const read = pairs().read(declared);
    return read.ok && isSame(field, read.value, current);
  }
  if (Array.isArray(declared)) return isSameList(field, declared, listOf(current));
  if (isFields(declared) && isFields(current)) {
    const names = new Set([...Object.keys(declared), ...Object.keys(current)]);
    return [...names].every((name) => isSame("", (declared[name] as Json) ?? null, current[name]));
  }
  if (typeof current === "number") return secondsOf(declared) === current;
  if (typeof declared === "string" && typeof current === "string") return isSameText(field, declared, current);
  return typeof declared === "number" && String(declared) === current;
}

/** A set of texts is the same in any order. */
function isSameList(field: string, declared: readonly unknown[], current: readonly unknown[]): boolean {
  const isText = (item: unknown) => typeof item !== "object";
  if (!declared.every(isText) || !current.every(isText)) return JSON.stringify(declared) === JSON.stringify(current);
  const setOf = (items: readonly unknown[]) =>
    JSON.stringify([...new Set(items.map((item) => normal(field, String(item))).filter((item) => item !== ""))].sort());
  return setOf(declared) === setOf(current);
}

function isSameText(field: string, declared: string, current: string): boolean {
  if (TEXTS_OF_POLICIES.test(field)) return decodePolicyText(declared) === decodePolicyText(current);
  return normal(field, declared) === normal(field, current);
}

function isDefault(field: string, declared: Json, current: unknown): boolean {
  if (DEFAULT_LISTS.test(field) && listOf(declared).join() === "default") {
    return JSON.stringify(current) === JSON.stringify(DEFAULT_METADATA);
  }
  const name = nameIn(field);
  const known = Object.hasOwn(DEFAULTS, name) ? DEFAULTS[name] : undefined;
  if (known === undefined || !known.answers.includes(current)) return false;
  return isEmpty(declared) || secondsOf(declared) === 0 || declared === known.word;
}

/** Names have no case, a network of one address is that address, and texts are answered without white space around them. */
function normal(field: string, text: string): string {
  const trimmed = text.trim();
  if (LOWER_CASE.test(field)) return nameKey(trimmed);
  if (PATHS.test(field)) return trimmed.replace(/^\/+|\/+$/g, "");
  if (URLS.test(field)) return trimmed.replace(/\/$/, "");
  const network = /cidrs?(?:_list)?$/.test(field) ? parseCidr(trimmed) : null;
  return network?.ok ? network.value : trimmed;
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isEmpty(value) ? [] : typeof value === "string" ? value.split(",").map((item) => item.trim()) : [value];
}

function secondsOf(value: Json): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return null;
  const duration = parseDuration(value);
  return duration.ok ? duration.value : Number(value);
}

/** ms; null for no time. NaN, which equals nothing, for what is none: the server refuses it. */
function timeOf(value: unknown): number | null {
  const read = time().read(value);
  return read.ok ? (read.value ?? null) : Number.NaN;
}

/** A bool in any form that the server takes; null for anything else. */
function flagOf(value: Json): boolean | null {
  if (typeof value === "boolean") return value;
  if (value === 0 || value === 1) return value === 1;
  if (value === "") return false;
  return typeof value === "string" ? parseFlag(value) : null;
}

/** True for the value of a field that was never set. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** True for an object with fields. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
