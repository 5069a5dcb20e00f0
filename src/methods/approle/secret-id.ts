import { formatRfc3339, type Ms, type Seconds } from "../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { fromBase64, fromUtf8 } from "../../crypto/bytes.ts";
import type { MountTtl } from "../../system/mount.ts";
import { networksWithin, readCidrs } from "../../token/rules/bound-cidrs.ts";
import type { Values } from "../../wire/field-schema.ts";
import { duration, Field, integer, isObject, list, sent } from "../../wire/fields.ts";
import { view } from "../../wire/view.ts";
import type { AppRole } from "./role.ts";

/** A secret-id, without its text and its hash. */
export interface SecretId {
  /** Names it to operators. It is no secret: it authenticates no login. */
  readonly accessor: string;
  readonly createdAt: Ms;
  /** When it was last used, as far as uses are counted. */
  readonly updatedAt: Ms;
  /** null: never. */
  readonly expiresAt: Ms | null;
  /** From creation to end; 0: it has no end. */
  readonly ttl: Seconds;
  /** Remaining logins; 0: no limit. */
  readonly usesLeft: number;
  /** Metadata of its tokens. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Networks that may log in with it, as they were written; empty: all that the role allows. */
  readonly cidrs: readonly string[];
  /** Networks that its tokens are bound to; empty: those of the role. */
  readonly tokenCidrs: readonly string[];
}

/** Maximum length of the text of a secret-id, as in the reference. */
export const MAX_SECRET_ID = 4096;
const MAX_METADATA_ENTRIES = 64;
/** Maximum length of the metadata of a secret-id as JSON. A token has room for it. */
const MAX_METADATA = 16_384;
/** What the reference shows for an absent time. */
const NO_TIME = "0001-01-01T00:00:00Z";

/** Fields of a new secret-id. */
export const SECRET_ID_FIELDS = {
  metadata: metadataField().describe("Metadata of its tokens: an object, JSON in a string, or a=b,c=d"),
  cidr_list: list().describe("Networks that may log in with it, of the role's"),
  token_bound_cidrs: list().describe("Networks of its tokens, of those of the role"),
  num_uses: sent(integer()).describe(
    "Logins that it is good for; as many as the role says unless sent, and never more",
  ),
  ttl: sent(duration()).describe("Its lifetime; that of the role unless sent, and never longer"),
};
export type SecretIdFields = Values<typeof SECRET_ID_FIELDS>;

/** Returns the problem with the fields of a secret-id, whatever is stored, or null. See `planSecretId`. */
export function secretIdProblem(fields: SecretIdFields): string | null {
  if ((fields.num_uses ?? 0) < 0) return "num_uses cannot be negative";
  if ((fields.ttl ?? 0) < 0) return "ttl cannot be negative";
  for (const name of ["cidr_list", "token_bound_cidrs"] as const) {
    const cidrs = readCidrs(fields[name], name);
    if (!cidrs.ok) return cidrs.error;
  }
  const { metadata } = fields;
  if (Object.keys(metadata).length > MAX_METADATA_ENTRIES)
    return `metadata has more than ${MAX_METADATA_ENTRIES} entries`;
  return JSON.stringify(metadata).length > MAX_METADATA ? "metadata is too large" : null;
}

/** Returns the new secret-id of a role, or a 400. Messages are the reference's. */
export function planSecretId(
  role: AppRole,
  fields: SecretIdFields,
  accessor: string,
  mount: MountTtl,
  now: Ms,
): Result<SecretId> {
  const problem = secretIdProblem(fields);
  if (problem) return refuse(problem);
  if (!role.bindSecretId) return refuse("bind_secret_id is not set on the role");
  const { num_uses: numUses = role.secretIdNumUses, ttl: askedTtl = role.secretIdTtl } = fields;
  if (exceeds(numUses, role.secretIdNumUses)) {
    return refuse("num_uses cannot be higher than the role's secret_id_num_uses");
  }
  if (exceeds(askedTtl, role.secretIdTtl)) return refuse("ttl cannot be longer than the role's secret_id_ttl");
  const networks = { cidr_list: role.boundCidrs, token_bound_cidrs: role.token.boundCidrs };
  for (const name of ["cidr_list", "token_bound_cidrs"] as const) {
    if (!networksWithin(fields[name], networks[name])) {
      return refuse(`failed to verify subset relationship between CIDR blocks on the role and ${name}`);
    }
  }
  const ttl = Math.min(askedTtl, mount.maxSeconds);
  return ok({
    accessor,
    createdAt: now,
    updatedAt: now,
    expiresAt: ttl === 0 ? null : now + ttl * 1000,
    ttl,
    usesLeft: numUses,
    metadata: fields.metadata,
    cidrs: fields.cidr_list,
    tokenCidrs: fields.token_bound_cidrs,
  });
}

/** True when a limit is above that of the role; 0 is no limit. */
function exceeds(asked: number, ofRole: number): boolean {
  return ofRole > 0 && (asked === 0 || asked > ofRole);
}

/** True when a secret-id has ended at `now`, whether it is still stored or not. */
export function hasEnded({ expiresAt }: Pick<SecretId, "expiresAt">, now: Ms): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** True when a secret-id has all of these metadata. */
export function hasMetadata({ metadata }: SecretId, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => Object.hasOwn(metadata, name) && metadata[name] === value);
}

/** The fields of a look-up. */
export const SECRET_ID_VIEW = view<SecretId>({
  secret_id_accessor: ["string", (secretId) => secretId.accessor],
  secret_id_num_uses: ["integer", (secretId) => secretId.usesLeft],
  secret_id_ttl: ["integer", (secretId) => secretId.ttl],
  creation_time: ["string", (secretId) => formatRfc3339(secretId.createdAt)],
  expiration_time: ["string", ({ expiresAt }) => (expiresAt === null ? NO_TIME : formatRfc3339(expiresAt))],
  last_updated_time: ["string", (secretId) => formatRfc3339(secretId.updatedAt)],
  metadata: [{ "*": "string" }, (secretId) => secretId.metadata],
  cidr_list: [["string"], (secretId) => secretId.cidrs],
  token_bound_cidrs: [["string"], (secretId) => secretId.tokenCidrs],
});

const NO_METADATA = "an object of strings, JSON of one, or a=b,c=d";

/** Strings by name in the forms of the reference, and as a JSON object. {} when absent. */
export function metadataField(): Field<Record<string, string>> {
  return new Field({ shape: { "*": "string" }, format: "kvpairs" }, (value = {}) => {
    const read = typeof value === "string" ? readMetadataText(value.trim()) : value;
    if (!isObject(read)) return err(`expected ${NO_METADATA}`);
    const entries = Object.entries(read);
    const strings = entries.flatMap(([name, item]) => (typeof item === "string" ? [[name, item] as const] : []));
    return strings.length === entries.length ? ok(Object.fromEntries(strings)) : err(`expected ${NO_METADATA}`);
  });
}

/** JSON, JSON in base64, or pairs with commas between, in the order in which the reference tries them. */
function readMetadataText(text: string): unknown {
  if (text === "") return {};
  const decoded = fromBase64(text);
  for (const json of [text, decoded && fromUtf8(decoded)]) {
    try {
      if (json?.startsWith("{")) return JSON.parse(json);
    } catch {
      // Not JSON: another form.
    }
  }
  const pairs = text.split(",").map((pair) => /^\s*([^=\s][^=]*?)\s*=\s*(.*?)\s*$/s.exec(pair));
  return pairs.every((pair) => pair !== null)
    ? Object.fromEntries(pairs.map(([, name, value]) => [name, value]))
    : null;
}
