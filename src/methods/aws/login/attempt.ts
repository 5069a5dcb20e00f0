import { LAST_CHECKS, type LoginAttempt, type VerifiedClient } from "../../../auth/login-attempt.ts";
import { bindAddress } from "../../../auth/token-settings.ts";
import { nameKey } from "../../../base/name.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { exact, exactString } from "../../../wire/exact-fields.ts";
import { fieldSchema, pasted, readValues, sent, text, type Values } from "../../../wire/fields.ts";
import { isRoleName } from "../../roles.ts";
import { type AccountClient, type CloudAccess, openClient } from "../clients/client.ts";
import { isPlainWord } from "../encoding.ts";
import type { LoginSettings } from "../mount/copies.ts";
import { configurationForLogin } from "../mount/mount.ts";
import type { CloudMetadata, IdentityConfig } from "../rules/identity.ts";
import type { AuthType, CloudRole } from "../rules/role.ts";
import { SIGNED_REQUEST_FIELDS } from "../sts/signed-request.ts";
import { translateMetadata } from "../vocabulary.ts";

/** Descriptions of the checks of a login, by name. */
export const CHECKS = {
  request: "The request has the fields of one kind of login.",
  role: "The role exists.",
  address: "The client's address is in a network that the role is bound to.",
  auth_type: "The role takes this kind of login.",
  document: "The document is signed by the cloud.",
  caller: "STS says who signed the request.",
  nonce: "The nonce has the form of one.",
  principal: "The principal is one that the role is bound to.",
  inferred_session: "The principal is a session of an assumed role, named like an instance.",
  instance: "The instance runs, by what the cloud says now.",
  bound_region: "The region is one that the role is bound to.",
  bound_vm_instance_id: "The instance is one that the role is bound to.",
  bound_account_id: "The account is one that the role is bound to.",
  bound_image_id: "The image is one that the role is bound to.",
  bound_subnet_id: "The subnet is one that the role is bound to.",
  bound_vpc_id: "The VPC is one that the role is bound to.",
  bound_iam_instance_profile_arn: "The instance profile is one that the role is bound to.",
  bound_iam_role_arn: "The role in the instance profile is one that the role is bound to.",
  inferred_role: "The role in the instance profile is the one whose session the principal is.",
  role_tag: "The instance has a genuine role tag, where the role wants one.",
  deny_list: "The role tag is not on the deny list.",
  access_list: "The access list lets the instance log in: it is its first login, or it knows the nonce.",
  signature_uses: "The signed request has not given as many tokens as it may.",
  ...LAST_CHECKS,
} as const satisfies Readonly<Record<string, string>>;

type CheckName = keyof typeof CHECKS;

/** The constraints on an instance in the order of the checks. */
const INSTANCE_BOUNDS = [
  "bound_region",
  "bound_vm_instance_id",
  "bound_account_id",
  "bound_image_id",
  "bound_subnet_id",
  "bound_vpc_id",
  "bound_iam_instance_profile_arn",
  "bound_iam_role_arn",
] as const;

/** The checks of a kind of login in their order. */
export function checksOf(kind: AuthType, infersInstance: boolean): readonly CheckName[] {
  const begin = ["role", "address", "auth_type"] as const;
  const instance = ["instance", ...INSTANCE_BOUNDS] as const;
  const end = ["entity", "token"] as const;
  if (kind === "vm") {
    return [...begin, "document", "nonce", ...instance, "role_tag", "deny_list", "access_list", ...end];
  }
  const inferred = infersInstance ? (["inferred_session", ...instance, "inferred_role"] as const) : [];
  return [...begin, "caller", "principal", ...inferred, ...end];
}

/** The fields of a login; undefined when not sent. */
export const LOGIN_FIELDS = fieldSchema({
  role: sent(text()).describe("The role; default: the image, or the name of the principal"),
  identity: sent(pasted()).describe("The identity document of the instance, as base64"),
  signature: sent(pasted()).describe("The signature of the document"),
  pkcs7: sent(pasted()).describe("The document with its signature, instead of both"),
  nonce: sent(text()).describe("The nonce for later logins of the instance; generated if not sent"),
  ...SIGNED_REQUEST_FIELDS,
});

export type LoginFields = Values<typeof LOGIN_FIELDS>;

/**
 * The kind of login that the fields are for. A field counts when it was sent, even if it is empty. Fields that are only
 * a part of the other kind do not matter. Messages are those of the reference's AWS method (login).
 */
export function chooseKind(fields: LoginFields): Result<AuthType> {
  const pair = fields.identity !== undefined && fields.signature !== undefined;
  const vm = fields.pkcs7 !== undefined || pair;
  const method = fields.iam_http_request_method;
  const body = fields.iam_request_body !== undefined || method === "GET";
  const request = fields.iam_request_url !== undefined && fields.iam_request_headers !== undefined;
  const iam = method !== undefined && body && request;
  if (vm && iam) return refuse("supplied auth values for both vm and iam auth types");
  if (vm || iam) return ok(vm ? "vm" : "iam");
  return refuse("didn't supply required authentication values");
}

/** A login in progress, or the explanation of one. */
export type Attempt = LoginAttempt<CheckName>;

/** The name is in lower case. */
type NamedRole = { readonly roleName: string; readonly role: CloudRole };

/** The role of a login or a renewal, with the client for the account of its holder. */
export type LoginRole = AccountClient & NamedRole & { readonly identity: IdentityConfig };

/** A role that exists and allows this kind of login from this address, and the networks that its token is bound to. */
type AllowedRole = NamedRole & { readonly boundCidrs: readonly string[] };

export type AllowedLoginRole = LoginRole & AllowedRole;

/** A login before its proof is verified. `named` is null when the proof names the role. */
type LoginStart = { readonly settings: LoginSettings; readonly named: AllowedRole | null };

/**
 * Makes the checks that need no proof: the role exists, and it allows this kind of login and this address. They come
 * first, since any client can send a proof, and verifying it costs more. `name` is empty when the proof names the role.
 */
export async function startLogin(attempt: Attempt, kind: AuthType, name = ""): Promise<Result<LoginStart>> {
  const roleName = readRoleName(attempt, name);
  if (!roleName.ok) return roleName;
  const { settings, role } = await configurationForLogin(attempt, roleName.value || null, null);
  if (roleName.value !== "") {
    const named = checkRole(attempt, role, roleName.value, kind);
    return named.ok ? ok({ settings, named: named.value }) : named;
  }
  const mayLead = (kind === "vm" ? settings.hasImageRoles : settings.hasRoles) && !settings.tampered;
  const start = { settings, named: null };
  return mayLead ? ok(start) : attempt.checks.record("role", {}, refuse("entry for role not found"));
}

/**
 * Finds the role, if only the proof names it, and the client for the account. `name` is that of the holder according to
 * the proof. A name in IAM can be `..`, which is no name of a role.
 */
export async function findTarget(
  attempt: Attempt,
  kind: AuthType,
  { settings, named }: LoginStart,
  name: string,
  accountId: string,
): Promise<Result<AllowedLoginRole>> {
  const roleName = named ? ok(null) : readRoleName(attempt, name);
  if (!roleName.ok) return roleName;
  const admitted = roleName.value === null ? ok(null) : await attempt.admitRole(roleName.value);
  if (!admitted.ok) return admitted;
  const { role, stsRole } = await configurationForLogin(attempt, roleName.value, accountId, settings);
  const allowed = named ? ok(named) : checkRole(attempt, role, roleName.value ?? "", kind);
  return allowed.ok ? ok(await targetOf(attempt, settings, allowed.value, { accountId, stsRole })) : allowed;
}

/** The target of a role in an account. */
export async function targetOf<R extends NamedRole>(
  access: CloudAccess,
  { identity, client }: LoginSettings,
  role: R,
  account: Pick<AccountClient, "accountId" | "stsRole">,
): Promise<R & LoginRole> {
  return { ...role, identity, ...account, ...(await openClient(access, client)) };
}

/** In lower case; "" for none. */
function readRoleName({ checks, notes }: Attempt, name: string): Result<string> {
  const roleName = nameKey(name);
  if (roleName !== "" && !isRoleName(roleName)) return checks.record("role", {}, err(notFound(roleName)));
  if (roleName !== "") notes.role = roleName;
  return ok(roleName);
}

function checkRole(
  { clientAddress, checks, notes }: Attempt,
  role: CloudRole | null,
  roleName: string,
  kind: AuthType,
): Result<AllowedRole> {
  const found = checks.record("role", { actual: roleName }, role ? ok(role) : err(notFound(roleName)));
  if (!found.ok) return found;
  notes.roleExists = true;
  const { token, authType } = found.value;
  const addresses = { bound: token.boundCidrs, actual: clientAddress };
  const boundCidrs = checks.record("address", addresses, bindAddress(token, clientAddress));
  if (!boundCidrs.ok) return boundCidrs;
  const allowed = { roleName, role: found.value, boundCidrs: boundCidrs.value };
  const other = refuse(`auth method ${kind} not allowed for role ${roleName}`);
  return checks.record("auth_type", { bound: [authType], actual: kind }, authType === kind ? ok(allowed) : other);
}

function notFound(roleName: string): Failure {
  return invalid(isPlainWord(roleName) ? `entry for role "${roleName}" not found` : "entry for role not found");
}

/** Returns a verified client in the vocabulary of its mount, with data for renewals. `metadata` have inner names. */
export function verifiedClient(
  { mount }: Pick<LoginRole, "mount">,
  alias: { readonly name: string; readonly metadata: CloudMetadata },
  token: Omit<VerifiedClient["token"], "internal">,
  data: InstanceData | PrincipalData,
): VerifiedClient {
  return {
    alias: { ...alias, metadata: translateMetadata(mount.type, alias.metadata) },
    token: { ...token, metadata: translateMetadata(mount.type, token.metadata), internal: writeTokenData(data) },
  };
}

const TEXT = exactString("is missing");

/**
 * Data of the login that a token keeps for its renewals. Clients can't read it. It is not in the metadata, as a mount
 * can be configured without metadata.
 */
const INSTANCE_DATA = fieldSchema({
  /** In lower case. */
  role: TEXT,
  instanceId: TEXT,
  region: TEXT,
  accountId: TEXT,
  /** Seconds; 0 for no limit or no role tag. */
  tagMaxTtl: exact("integer", (value) =>
    typeof value === "string" && /^\d+$/.test(value) ? ok(Number(value)) : err("is not a number of seconds"),
  ),
});

const PRINCIPAL_DATA = fieldSchema({
  role: TEXT,
  /** The ARN without path and session. */
  canonicalArn: TEXT,
  uniqueId: TEXT,
  accountId: TEXT,
  /** "" when no instance was inferred; also the next field. */
  inferredInstanceId: TEXT,
  inferredRegion: TEXT,
});

export type InstanceData = Values<typeof INSTANCE_DATA> & { readonly kind: "vm" };
export type PrincipalData = Values<typeof PRINCIPAL_DATA> & { readonly kind: "iam" };

/** The data in the form of a token. */
export function writeTokenData(data: InstanceData | PrincipalData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)]));
}

/** Reads the data of a token of this method. @throws when they are malformed: a bug. */
export function readTokenData(internal: Readonly<Record<string, string>>): InstanceData | PrincipalData {
  const vm = internal.kind === "vm" ? readValues(INSTANCE_DATA, internal) : null;
  if (vm?.ok) return { kind: "vm", ...vm.value };
  const iam = internal.kind === "iam" ? readValues(PRINCIPAL_DATA, internal) : null;
  if (iam?.ok) return { kind: "iam", ...iam.value };
  throw new Error("a token of the cloud method has malformed data of its login");
}
