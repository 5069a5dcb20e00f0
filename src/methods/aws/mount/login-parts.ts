import { DEFAULT_CLIENT } from "../clients/config.ts";
import type { StsRole } from "../clients/sts-role.ts";
import { DEFAULT_IDENTITY } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";
import type { LoginSettings } from "./copies.ts";
import type { CloudStore } from "./store.ts";

/** Parts of the configuration that a login lacks. */
export interface LoginAsk {
  readonly settings: boolean;
  /** In lower case; null for none. */
  readonly roleName: string | null;
  /** Whose role to assume; null for none. */
  readonly accountId: string | null;
}

/** The parts that were asked for, and null for the others. */
export interface LoginParts {
  /** The state of the configuration that they are of: a number that every change makes greater. */
  readonly state: number;
  readonly settings: LoginSettings | null;
  readonly role: CloudRole | null;
  /** The role to assume for the account. */
  readonly stsRole: StsRole | null;
}

/** What the id of an image begins with: a vm login without a role means the role that is named like its image. */
const IMAGE_PREFIX = "ami-";

/** The parts of the configuration that a login or a renewal asks for. */
export function readLoginParts(store: CloudStore, { settings, roleName, accountId }: LoginAsk): LoginParts {
  // No login uses settings that were tampered with: defaults in their place would let in whom those keep out.
  const tampered = store.client.isTampered || store.identity.isTampered;
  return {
    state: store.state,
    settings: settings ? loginSettings(store, tampered) : null,
    role: roleName === null || tampered ? null : store.roles.read(roleName),
    stsRole: accountId === null ? null : store.stsRoles.read(accountId),
  };
}

function loginSettings(store: CloudStore, tampered: boolean): LoginSettings {
  const { client, identity, certificates } = store;
  return {
    client: client.read() ?? DEFAULT_CLIENT,
    identity: identity.read() ?? DEFAULT_IDENTITY,
    certificates: certificates.values(),
    hasRoles: hasRoleFrom(store, ""),
    hasImageRoles: hasRoleFrom(store, IMAGE_PREFIX),
    tampered,
  };
}

function hasRoleFrom({ roles }: CloudStore, prefix: string): boolean {
  return roles.names(prefix, 1).some((name) => name.startsWith(prefix));
}
