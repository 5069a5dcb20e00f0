import { IsolateCopy } from "../../../base/isolate-copy.ts";
import { type AnswersOfSource, type CopyUse, type UsedCopy, useOfCopy } from "../../../system/copy-age.ts";
import type { ClientConfig, StsRole } from "../clients/config.ts";
import type { RegisteredCertificate } from "../documents/trusted.ts";
import type { IdentityConfig } from "../rules/identity.ts";
import type { CloudRole } from "../rules/role.ts";

/** What every login at a mount needs. Secrets in it are sealed. */
export interface LoginSettings {
  readonly client: ClientConfig;
  readonly identity: IdentityConfig;
  readonly certificates: readonly RegisteredCertificate[];
  /** False when there is no role at all: then no login without a role can lead to one. */
  readonly hasRoles: boolean;
  /** The same for roles that are named like an image. */
  readonly hasImageRoles: boolean;
  /** True when they were tampered with. Then there are no roles: defaults would let in clients that the settings keep out. */
  readonly tampered: boolean;
}

/** How old a copy of the announced state may get (ms). It bounds changes that are not announced, as by a restored object. */
const LONGEST_MS = 60_000;

/** Which mount's copy, and how it is judged. */
export interface CopyOf {
  /** The uuid of the mount. */
  readonly mount: string;
  /** The newest state of the mount's configuration that was announced to this isolate; 0 before the first. */
  readonly announced: number;
  /** How long a copy of another state is good, in ms: POLICY_CACHE_SECONDS. */
  readonly maxAgeMs: number;
  /** How much longer a copy is good while the mount's object does not answer, in ms: POLICY_GRACE_SECONDS. */
  readonly graceMs: number;
  /** How the mount's object answered lately. */
  readonly source: AnswersOfSource;
}

/** A copy that may be used. */
export interface KnownPart<T> extends UsedCopy {
  readonly part: T;
  /** Whether to read it again, and whether to wait for that. */
  readonly use: Exclude<CopyUse, "wait">;
}

interface Copy<T> {
  readonly part: T;
  /** The state that the object was in. */
  readonly state: number;
}

/** Copies of one part of the configurations of mounts, in the memory of this isolate. */
class PartCopies<T> {
  readonly #copies: IsolateCopy<string, Copy<T>>;

  /** @param maxCharacters of the copies together, as JSON; at most twice as much is kept. */
  constructor(maxCharacters: number) {
    this.#copies = new IsolateCopy(
      maxCharacters,
      (one, other) => one.state === other.state,
      ({ part }) => JSON.stringify(part).length + 256,
    );
  }

  /**
   * The copy of a name, or undefined. `now` in ms.
   *
   * A copy of the state that was announced last is good without asking; the snapshot of the installation says what was
   * announced, so a change holds within POLICY_CACHE_SECONDS. One of another state is good for that long too. While the
   * object does not answer, a copy is good for longer, but not when a change was announced since.
   */
  find(of: CopyOf, name: string, now: number): KnownPart<T> | undefined {
    const copied = this.#copies.copied(keyOf(of, name));
    if (!copied) return undefined;
    const { value: copy, readAt: checkedAt } = copied;
    const age: UsedCopy = {
      checkedAt,
      maxAgeMs: copy.state === of.announced ? LONGEST_MS : of.maxAgeMs,
      graceMs: copy.state >= of.announced ? of.graceMs : 0,
    };
    const use = useOfCopy(age, of.source, now);
    return use === "wait" ? undefined : { ...age, part: copy.part, use };
  }

  /**
   * Begins a reading, before the object is asked.
   *
   * @returns keeps what was read in some state of the object, see `IsolateCopy.keep`; undefined drops the copy.
   */
  begin(of: Pick<CopyOf, "mount">, name: string): (part: T | undefined, state: number) => void {
    const reading = this.#copies.begin();
    return (part, state) =>
      this.#copies.keep(keyOf(of, name), part === undefined ? undefined : { part, state }, reading);
  }

  forget(): void {
    this.#copies.clear();
  }
}

/** By "": each mount has one. */
export const SETTINGS_COPIES = new PartCopies<LoginSettings>(2 ** 18);
/** By the name of the role. It has 131,072 characters at most, and usually less than 2,000. */
export const ROLE_COPIES = new PartCopies<CloudRole>(2 ** 20);
/** By the id of the account; null where no role is configured. */
export const STS_ROLE_COPIES = new PartCopies<StsRole | null>(2 ** 18);

/** Drops all copies. Called with every change that this isolate makes, so that it sees its own at once. */
export function forgetCopies(): void {
  for (const copies of [SETTINGS_COPIES, ROLE_COPIES, STS_ROLE_COPIES]) copies.forget();
}

function keyOf({ mount }: Pick<CopyOf, "mount">, name: string): string {
  return `${mount} ${name}`;
}
