import { waitUntil } from "cloudflare:workers";
import { Copies, type CopyPolicy } from "../../../base/copies.ts";
import type { ClientConfig, StsRole } from "../clients/config.ts";
import type { RegisteredCertificate } from "../documents/certificate.ts";
import type { IdentityConfig } from "../rules/identity.ts";
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

/** Maximum age of a copy of the announced state. It bounds changes that are not announced, such as a restore. */
const LONGEST_MS = 60_000;
/** Maximum size of the copies of one kind in characters of JSON; at most twice as much is kept. */
const MAX_CHARACTERS = 524_288;

/** A part of the configuration, with the state of the object in which it was read. */
interface PartInState<T> {
  readonly part: T;
  readonly state: number;
}

function copiesOf<A extends PartInState<unknown> | undefined>() {
  return new Copies<string, A>(MAX_CHARACTERS, {
    sizeOf: (copied) => JSON.stringify(copied).length + 256,
    inBackground: waitUntil,
  });
}

/** The isolate's copies: settings by mount, the others by mount and name. */
export const settingsCopies = copiesOf<PartInState<LoginSettings>>();
export const roleCopies = copiesOf<PartInState<CloudRole> | undefined>();
export const stsRoleCopies = copiesOf<PartInState<StsRole | null>>();

/**
 * The policy of copies. A copy of the announced state is used without asking the object: the installation's snapshot
 * has the announced state, so a change takes effect within POLICY_CACHE_SECONDS. A copy of another state is used for
 * that long too. Only a copy from before a change that was announced has no grace.
 *
 * @param announced the newest state that was announced to this isolate; 0 before the first.
 * @param limits POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS.
 */
export function policyOfCopies(announced: number, { maxAgeMs, graceMs }: CopyPolicy) {
  return (copied?: PartInState<unknown>): CopyPolicy => ({
    maxAgeMs: copied?.state === announced ? LONGEST_MS : maxAgeMs,
    graceMs: copied && copied.state >= announced ? graceMs : 0,
  });
}

/** Drops all copies. Called after each change that this isolate makes, so that it sees its own changes at once. */
export function forgetCopies(): void {
  for (const copies of [settingsCopies, roleCopies, stsRoleCopies]) copies.clear();
}
