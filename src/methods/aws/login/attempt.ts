import type { LoginAttempt, VerifiedClient } from "../../../auth/login-attempt.ts";
import { bindAddress, type TokenTerms } from "../../../auth/token-settings.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import type { Mount } from "../../../system/mount.ts";
import { fieldSchema, sent, text, unread, type Values } from "../../../wire/fields.ts";
import { isRoleName } from "../../roles.ts";
import { type AccountClient, type CloudAccess, openClient } from "../clients/client.ts";
import { isPlainWord } from "../encoding.ts";
import type { LoginSettings } from "../mount/copies.ts";
import { configurationForLogin } from "../mount/for-login.ts";
import { mountTypeOf } from "../mount/mount.ts";
import type { CheckName } from "../rules/checks.ts";
import type { IdentityConfig, Metadata } from "../rules/identity.ts";
import type { AuthType, CloudRole } from "../rules/role.ts";
import { translateMetadata } from "../vocabulary.ts";

/** The fields of a login; undefined when not sent. */
export const LOGIN_FIELDS = fieldSchema({
  role: sent(text()).describe("The role; the image or the name of the principal unless sent"),
  identity: sent(text()).describe("The identity document of the instance, as base64"),
  signature: sent(text()).describe("The signature of the document"),
  pkcs7: sent(text()).describe("The document with its signature, in the place of both"),
  nonce: sent(text()).describe("What makes later logins of the instance possible; one is made unless sent"),
  iam_http_request_method: sent(text()).describe("The method of the signed request: POST or GET"),
  iam_request_url: sent(text()).describe("Its URL, as base64"),
  iam_request_body: sent(text()).describe("Its body, as base64"),
  iam_request_headers: unread("any").describe("Its headers, as base64 of JSON, or as JSON"),
});

export type LoginFields = Values<typeof LOGIN_FIELDS>;

/**
 * Which kind of login the fields are for. A field counts when it was sent, be it empty. What is there for one kind only
 * in part does not make the other ambiguous. Messages are those of the reference's AWS method (login).
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

/** A login under way. */
export type Attempt = LoginAttempt<CheckName>;

/** The role that a holder logs in to, or renews by, and what the mount's configuration says for it. */
export interface Target extends AccountClient {
  /** In lower case. */
  readonly roleName: string;
  readonly role: CloudRole;
  readonly identity: IdentityConfig;
}

/** A role that exists, takes this kind of login, and takes it from this address. */
interface JudgedRole {
  /** In lower case. */
  readonly roleName: string;
  readonly role: CloudRole;
  /** Networks that the token is tied to. */
  readonly boundCidrs: readonly string[];
}

/** What is known of a login before its proof. */
export interface LoginStart {
  readonly settings: LoginSettings;
  /** null when the proof names the role. */
  readonly named: JudgedRole | null;
}

/** The target of a login from an address that the role takes. */
export type LoginTarget = Target & JudgedRole;

/**
 * The checks that need no proof: the role exists, allows this kind of login, and allows this address. They come first,
 * since any client can send a proof, and to verify one costs more than everything else here.
 *
 * @param name as the client sent it; "" or undefined when the proof names the role.
 */
export async function startLogin(
  attempt: Attempt,
  kind: AuthType,
  name: string | undefined,
): Promise<Result<LoginStart>> {
  const read = readRoleName(name ?? "");
  if (!read.ok) return attempt.checks.record("role", {}, read);
  const roleName = read.value;
  if (roleName === "") {
    const { settings } = await configurationForLogin(attempt, null, null);
    const mayLead = (kind === "vm" ? settings.hasImageRoles : settings.hasRoles) && !settings.tampered;
    const start = { settings, named: null };
    return mayLead ? ok(start) : attempt.checks.record("role", {}, refuse("entry for role not found"));
  }
  attempt.notes.role = roleName;
  const { settings, role } = await configurationForLogin(attempt, roleName, null);
  const named = judgeRole(attempt, role, roleName, kind);
  return named.ok ? ok({ settings, named: named.value }) : named;
}

/**
 * Finds what a login needs after its proof: the role, where only the proof names it, and the account's client.
 *
 * @param name the role by the proof, as the cloud names the holder. Names of IAM can be `..`, those of roles can't.
 */
export async function findTarget(
  attempt: Attempt,
  kind: AuthType,
  { settings, named }: LoginStart,
  name: string,
  accountId: string,
): Promise<Result<LoginTarget>> {
  if (named) {
    const { stsRole } = await configurationForLogin(attempt, null, accountId, settings);
    return ok(await targetOf(attempt, settings, named, { accountId, stsRole }));
  }
  const read = readRoleName(name);
  if (!read.ok) return attempt.checks.record("role", {}, read);
  attempt.notes.role = read.value;
  const { role, stsRole } = await configurationForLogin(attempt, read.value, accountId, settings);
  const judged = judgeRole(attempt, role, read.value, kind);
  return judged.ok ? ok(await targetOf(attempt, settings, judged.value, { accountId, stsRole })) : judged;
}

/** The target of this role in an account. */
export async function targetOf<R extends Pick<Target, "roleName" | "role">>(
  access: CloudAccess,
  { identity, client }: LoginSettings,
  role: R,
  account: Pick<AccountClient, "accountId" | "stsRole">,
): Promise<R & Target> {
  return { ...role, identity, ...account, ...(await openClient(access, client)) };
}

/** A role's name in lower case, "" for none; a failure for what no role can be called. */
function readRoleName(name: string): Result<string> {
  const roleName = name.toLowerCase();
  const possible = roleName === "" || isRoleName(roleName);
  return possible ? ok(roleName) : err(notFound(roleName));
}

/** The role of a login, if there is one and it takes this kind of login from this address. */
function judgeRole(
  { clientAddress, checks, notes }: Attempt,
  role: CloudRole | null,
  roleName: string,
  kind: AuthType,
): Result<JudgedRole> {
  const found = checks.record("role", { actual: roleName }, role ? ok(role) : err(notFound(roleName)));
  if (!found.ok) return found;
  notes.roleExists = true;
  const { token, authType } = found.value;
  const addresses = { bound: token.boundCidrs, actual: clientAddress };
  const boundCidrs = checks.record("address", addresses, bindAddress(token, clientAddress));
  if (!boundCidrs.ok) return boundCidrs;
  const taken = { roleName, role: found.value, boundCidrs: boundCidrs.value };
  const other = refuse(`auth method ${kind} not allowed for role ${roleName}`);
  return checks.record("auth_type", { bound: [authType], actual: kind }, authType === kind ? ok(taken) : other);
}

function notFound(roleName: string): Failure {
  return invalid(isPlainWord(roleName) ? `entry for role "${roleName}" not found` : "entry for role not found");
}

/** What the method says about a client that it verified, in the inner vocabulary. */
interface Holder {
  readonly terms: TokenTerms;
  /** The name that the mount knows the client by. */
  readonly alias: string;
  /** Shown to clients. */
  readonly metadata: Metadata;
  /** The chosen part of it, kept with the alias. */
  readonly aliasMetadata: Metadata;
  readonly displayName: string;
  /** What the token keeps for renewals. */
  readonly internal: Metadata;
}

/** A verified client in the mount's vocabulary. */
export function clientOf(mount: Mount, { terms, alias, displayName, internal, ...words }: Holder): VerifiedClient {
  const type = mountTypeOf(mount);
  const metadata = translateMetadata(type, words.metadata);
  return {
    alias: { aliasName: alias, metadata: translateMetadata(type, words.aliasMetadata) },
    token: { ...terms, displayName, metadata, internal },
  };
}
