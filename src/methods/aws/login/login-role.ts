import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import { nameKey } from "../../../base/case-folding.ts";
import { err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { isRoleName } from "../../role-name.ts";
import { type AccountClient, type CloudAccess, openClient } from "../clients/client.ts";
import type { StsRole } from "../clients/client-config.ts";
import { isPlainWord } from "../encoding.ts";
import type { LoginSettings } from "../mount/login-settings.ts";
import { configurationForLogin } from "../mount/mount-config.ts";
import type { CloudMetadata, IdentityConfig } from "../rules/alias-and-metadata.ts";
import type { AuthType, CloudRole } from "../rules/role.ts";
import { translateMetadata } from "../vocabulary.ts";
import type { Attempt } from "./check-list.ts";
import type { LoginFields } from "./fields.ts";
import { type InstanceData, type PrincipalData, writeTokenData } from "./token-data.ts";

/** What a login begins with. */
export interface Begun<Claim = unknown> {
  readonly attempt: Attempt;
  readonly kind: AuthType;
  readonly fields: LoginFields;
  /** An identity without proof, for an explanation; null when the fields have to prove one. */
  readonly claim: Claim | null;
  /** True for an explanation: nothing is written. */
  readonly isDryRun: boolean;
}

export type Settings = { readonly settings: LoginSettings };

/** The facts that a proof shows about the client. `name`: the role of a login that names none. */
export type Proven = { readonly proven: { readonly name: string; readonly accountId: string } };

type NamedRole = { readonly roleName: string; readonly role: CloudRole };

/** The role of a login or a renewal, with the client for the account of its holder. */
export type LoginRole = AccountClient & NamedRole & { readonly identity: IdentityConfig };

/** The role of a login that may be made from its address. The token is bound to the networks. */
export type LoginTarget = { readonly target: LoginRole & { readonly boundCidrs: readonly string[] } };

/** Finds the role that a login names, which is in lower case; null when it does not exist. */
export async function findNamedRole({ attempt, fields }: Begun) {
  const roleName = readRoleName(attempt, fields.role ?? "");
  if (!roleName.ok) return roleName;
  const { settings, role: found } = await configurationForLogin(attempt, roleName.value, null);
  return ok({ settings, roleName: roleName.value, found });
}

/** Finds the settings for a login whose proof names the role. Refuses if the mount has no role that it could name. */
export async function findSettings({ attempt, kind }: Begun): Promise<Result<Settings>> {
  const { settings } = await configurationForLogin(attempt, null, null);
  const mayLead = (kind === "vm" ? settings.hasImageRoles : settings.hasRoles) && !settings.tampered;
  return mayLead ? ok({ settings }) : attempt.checks.record("role", {}, refuse("entry for role not found"));
}

/** Finds the role that a proof names. A name in IAM can be `..`, which is no name of a role. */
export async function findProvenRole({ attempt, settings, proven }: Begun & Settings & Proven) {
  const roleName = readRoleName(attempt, proven.name);
  if (!roleName.ok) return roleName;
  const admitted = await attempt.admitRole(roleName.value);
  if (!admitted.ok) return admitted;
  const { role: found, stsRole } = await configurationForLogin(attempt, roleName.value, proven.accountId, settings);
  return ok({ roleName: roleName.value, found, stsRole });
}

/** Opens the client for the account of the holder. `stsRole` is undefined when it was not looked up with the role. */
export async function openTarget(
  known: Begun & Settings & Proven & NamedRole & { boundCidrs: readonly string[]; stsRole?: StsRole | null },
): Promise<Result<LoginTarget>> {
  const { attempt, settings, proven, roleName, role, boundCidrs } = known;
  const { accountId } = proven;
  const { stsRole = (await configurationForLogin(attempt, null, accountId, settings)).stsRole } = known;
  return ok({ target: await targetOf(attempt, settings, { roleName, role, boundCidrs }, { accountId, stsRole }) });
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

/** Reads the name of a role, in lower case; "" for none. */
function readRoleName({ checks, notes }: Attempt, name: string): Result<string> {
  const roleName = nameKey(name);
  if (roleName !== "" && !isRoleName(roleName)) return checks.record("role", {}, err(notFound(roleName)));
  if (roleName !== "") notes.role = roleName;
  return ok(roleName);
}

/** The refusal of a role that does not exist. */
export function notFound(roleName: string): Failure {
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
