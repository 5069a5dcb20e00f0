import { IsolateCopy, type Reading } from "../../../base/isolate-copy.ts";
import { type CopyUse, useOfCopy } from "../../../system/copy-age.ts";
import type { CopySource, UsedCopy } from "../../../system/copy-source.ts";
import type { ClientConfig } from "../clients/config.ts";
import type { StsRole } from "../clients/sts-role.ts";
import type { RegisteredCertificate } from "../documents/registered.ts";
import type { IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";

/** What every login at a mount goes by. Secrets in it are sealed. */
export interface LoginSettings {
  readonly client: ClientConfig;
  readonly identity: IdentityConfig;
  readonly certificates: readonly RegisteredCertificate[];
  /** False when there is no role at all: then no login without a role can lead to one. */
  readonly hasRoles: boolean;
  /** The same for roles that are named like an image. */
  readonly hasImageRoles: boolean;
  /** True when they were tampered with. Then there are no roles: defaults would let in whom the settings keep out. */
  readonly tampered: boolean;
}

/** What the copies of an isolate are of, by the name of the part. */
interface Parts {
  readonly settings: LoginSettings;
  readonly role: CloudRole;
  /** The role to assume for an account; null where none is configured. */
  readonly sts: StsRole | null;
}

/** How old a copy may get that is of the announced state (ms): a bound for whatever is not announced, as a restored object. */
const LONGEST_MS = 60_000;
/** Characters of copies in one generation. A role has 131,072 at most, and usually less than 2,000. */
const MAX_CHARACTERS = 2 ** 22;

interface Copy {
  readonly part: Parts[keyof Parts];
  /** The state that the object was in. */
  readonly state: number;
}

/** Which mount's copy, and how it is judged. */
export interface CopyOf {
  /** Id of the mount's object. */
  readonly object: string;
  /** The newest state of the mount's configuration that this isolate heard of; 0 before the first. */
  readonly announced: number;
  /** How long a copy of another state is good, in ms: POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** How much longer a copy is good while the mount's object does not answer, in ms: POLICY_GRACE_SECONDS. */
  readonly graceMs: number;
  /** How the mount's object answered lately. */
  readonly source: Pick<CopySource, "renewalBegan" | "troubleAt">;
}

/** A copy that may be used. */
export interface KnownPart<P extends keyof Parts> extends UsedCopy {
  readonly part: Parts[P];
  /** Whether to read it anew, and whether to wait for that. */
  readonly use: Exclude<CopyUse, "wait">;
}

const copies = new IsolateCopy<string, Copy>(MAX_CHARACTERS, (one, other) => one.state === other.state);

/**
 * The copy of a part, or undefined. `name` is that of a role or an account, "" for the settings. `now` in ms.
 *
 * A copy of the state that was announced last is good without asking; the snapshot of the installation says what was
 * announced, so a change holds within POLICY_CACHE_SECONDS. One of another state is good for that long too. While the object
 * does not answer, a copy is good for longer, but not when a change was announced since.
 */
export function copyOf<P extends keyof Parts>(
  of: CopyOf,
  part: P,
  name: string,
  now: number,
): KnownPart<P> | undefined {
  const copied = copies.copied(keyOf(of, part, name));
  if (!copied) return undefined;
  const { value: copy, readAt: checkedAt } = copied;
  const { renewalBegan, troubleAt } = of.source;
  const age: UsedCopy = {
    checkedAt,
    maxAgeMs: copy.state === of.announced ? LONGEST_MS : of.maxAgeMs,
    graceMs: copy.state >= of.announced ? of.graceMs : 0,
  };
  const use = useOfCopy({ checkedAt, renewalBegan, troubleAt }, age, now);
  return use === "wait" ? undefined : { ...age, part: copy.part as Parts[P], use };
}

/** Drops a copy of what is not there any more. */
export function dropCopy(of: Pick<CopyOf, "object">, part: keyof Parts, name: string, reading: Reading): void {
  copies.keep(keyOf(of, part, name), undefined, reading);
}

/** What `keepCopy` takes. Call it before the object is asked. */
export function beginReading(): Reading {
  return copies.begin();
}

/** Keeps a part that was read in some state of the object, see `IsolateCopy.keep`. */
export function keepCopy<P extends keyof Parts>(
  of: Pick<CopyOf, "object">,
  part: P,
  name: string,
  value: Parts[P],
  state: number,
  reading: Reading,
): void {
  copies.keep(keyOf(of, part, name), { part: value, state }, reading, JSON.stringify(value).length + 256);
}

/** Drops all copies. Called with every change that this isolate makes, so that it sees its own at once. */
export function forgetCopies(): void {
  copies.clear();
}

function keyOf({ object }: Pick<CopyOf, "object">, part: keyof Parts, name: string): string {
  return `${object} ${part} ${name}`;
}
