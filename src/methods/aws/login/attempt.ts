import type { LoginAttempt, VerifiedClient } from "../../../auth/login-attempt.ts";
import { bindAddress, type TokenTerms } from "../../../auth/token-settings.ts";
import { err, type Failure, invalid, ok, type Result } from "../../../base/result.ts";
import type { Mount } from "../../../system/mount.ts";
import { isRoleName } from "../../roles.ts";
import { type CloudAccount, type CloudClient, openClient } from "../clients/client.ts";
import { isPlainWord } from "../encoding.ts";
import type { LoginSettings } from "../mount/copies.ts";
import { configurationForLogin } from "../mount/for-login.ts";
import { mountTypeOf } from "../mount/mount.ts";
import type { CheckName } from "../rules/checks.ts";
import type { IdentityConfig, Metadata } from "../rules/identity.ts";
import type { AuthType, CloudRole } from "../rules/role.ts";
import { translateMetadata } from "../vocabulary.ts";

/** A login under way. */
export type Attempt = LoginAttempt<CheckName>;

/** The role that a holder logs in to, or renews by, and what the mount's configuration says for it. */
export interface Target {
  /** In lower case. */
  readonly roleName: string;
  readonly role: CloudRole;
  readonly identity: IdentityConfig;
  readonly account: CloudAccount;
  readonly client: CloudClient;
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
    return mayLead ? ok(start) : attempt.checks.record("role", {}, err(invalid("entry for role not found")));
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

async function targetOf(
  attempt: Attempt,
  { identity, client }: LoginSettings,
  judged: JudgedRole,
  account: CloudAccount,
): Promise<LoginTarget> {
  return { ...judged, identity, account, client: await openClient(attempt, client) };
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
  const other = err(invalid(`auth method ${kind} not allowed for role ${roleName}`));
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
