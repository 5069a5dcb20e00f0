import { IsolateCopy, type Reading } from "../../../base/isolate-copy.ts";
import { type AnswersOfSource, type CopyUse, type UsedCopy, useOfCopy } from "../../../system/copy-age.ts";
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

export type SomeParts = Partial<Omit<LoginParts, "state">>;

/** Maximum age (ms) of a copy of the announced state. It bounds changes that are not announced, such as a restore. */
const LONGEST_MS = 60_000;
/** Maximum size of the copies in characters of JSON; at most twice as much is kept. A role has 131,072 at most. */
const MAX_CHARACTERS = 1_572_864;

/** A mount, and the limits of the copies of its configuration. */
export interface CopyOf {
  readonly mount: string;
  /** The newest state that was announced to this isolate; 0 before the first. */
  readonly announced: number;
  /** Maximum age of a copy of another state in ms: POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** Additional age in ms while the mount's object does not answer: POLICY_GRACE_SECONDS. */
  readonly graceMs: number;
  readonly source: AnswersOfSource;
}

type KnownPart = UsedCopy & { readonly part: SomeParts; readonly use: Exclude<CopyUse, "wait"> };

/** The isolate's copies, by mount and name of the part. */
const copies = new IsolateCopy<string, { readonly part: SomeParts; readonly state: number }>(
  MAX_CHARACTERS,
  (one, other) => one.state === other.state,
  ({ part }) => JSON.stringify(part).length + 256,
);

/**
 * Finds the copy of a part, by a name that is unique in the mount. `now` in ms. A copy of the announced state is used
 * without asking the object: the installation's snapshot has the announced state, so a change takes effect within
 * POLICY_CACHE_SECONDS. A copy of another state is used for that long too. While the object does not answer, a copy is
 * used for longer, unless a change was announced since.
 */
export function findCopy(of: CopyOf, name: string, now: number): KnownPart | undefined {
  const copied = copies.copied(`${of.mount} ${name}`);
  if (!copied) return undefined;
  const { part, state } = copied.value;
  const age: UsedCopy = {
    checkedAt: copied.readAt,
    maxAgeMs: state === of.announced ? LONGEST_MS : of.maxAgeMs,
    graceMs: state >= of.announced ? of.graceMs : 0,
  };
  const use = useOfCopy(age, of.source, now);
  return use === "wait" ? undefined : { ...age, part, use };
}

/** Begins a read of parts, before the object is asked. */
export function beginReading(): Reading {
  return copies.begin();
}

/** Keeps a part that was read in a state of the object (see `IsolateCopy.keep`); undefined drops the copy. */
export function keepCopy(of: CopyOf, name: string, part: SomeParts | undefined, state: number, reading: Reading) {
  copies.keep(`${of.mount} ${name}`, part && { part, state }, reading);
}

/** Drops all copies. Called after each change that this isolate makes, so that it sees its own changes at once. */
export function forgetCopies(): void {
  copies.clear();
}
