import { copiesOf, type PartInState } from "../../config-copies.ts";
import type { ClientConfig, StsRole } from "../clients/client-config.ts";
import type { RegisteredCertificate } from "../documents/certificate.ts";
import type { IdentityConfig } from "../rules/alias-and-metadata.ts";
import type { CloudRole } from "../rules/role.ts";

/** The settings that every login at a mount needs. Secrets in them are sealed. */
export interface LoginSettings {
  readonly client: ClientConfig;
  readonly identity: IdentityConfig;
  readonly certificates: readonly RegisteredCertificate[];
  /** False when there is no role: a login without a role can then be refused before its proof is verified. */
  readonly hasRoles: boolean;
  readonly hasImageRoles: boolean;
  /** True when the settings were tampered with. Then no role is returned, since defaults could admit more clients. */
  readonly tampered: boolean;
}

/** Parts of the configuration that a login or a renewal asks for: a role by its name in lower case; null for none. */
export interface LoginAsk {
  readonly settings: boolean;
  readonly roleName: string | null;
  /** The account whose role to assume; null for none. */
  readonly accountId: string | null;
}

/** The parts that were asked for. Null: not asked for, or not stored. */
export interface LoginParts {
  readonly state: number;
  readonly settings: LoginSettings | null;
  readonly role: CloudRole | null;
  readonly stsRole: StsRole | null;
}

/** The isolate's copies: settings by mount, the others by mount and name. */
export const settingsCopies = copiesOf<PartInState<LoginSettings>>();
export const roleCopies = copiesOf<PartInState<CloudRole> | undefined>();
export const stsRoleCopies = copiesOf<PartInState<StsRole | null>>();

/** Drops all copies. Called after each change that this isolate makes, so that it sees its own changes at once. */
export function forgetCopies(): void {
  for (const copies of [settingsCopies, roleCopies, stsRoleCopies]) copies.clear();
}
