import { waitUntil } from "cloudflare:workers";
import { Copies, type CopyPolicy } from "../base/copies.ts";
import { LoggedOwner } from "../base/copy-owner.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import type { SystemEnv } from "../system/env.ts";
import type { Mount } from "../system/mount.ts";
import { systemOf } from "../system/system.ts";

/** Maximum age (ms) of a copy of the announced state. It bounds changes that are not announced, such as a restore. */
const LONGEST_MS = 60_000;
/** Maximum size of the copies of one kind in characters of JSON; at most twice as much is kept. */
const MAX_CHARACTERS = 393_216;

/** A part of the configuration of a mount, with the state of the object in which it was read. */
export interface PartInState<T> {
  readonly part: T;
  readonly state: number;
}

/** Copies of parts of one kind. An undefined answer is not kept. */
export function copiesOf<A extends PartInState<unknown> | undefined>(): Copies<string, A> {
  return new Copies<string, A>(MAX_CHARACTERS, {
    sizeOf: (copied) => JSON.stringify(copied).length + 256,
    inBackground: waitUntil,
  });
}

/**
 * The policy of copies. A copy of the announced state is used without asking the object: the installation's snapshot
 * has the announced state, so a change takes effect within POLICY_CACHE_SECONDS. A copy of another state is used for
 * that long too. Only a copy from before a change that was announced has no grace.
 *
 * @param announced the newest state that was announced to this isolate; 0 before the first.
 * @param limits of a copy in another state: POLICY_CACHE_SECONDS and POLICY_GRACE_SECONDS.
 */
export function policyOfCopies(announced: number, limits: CopyPolicy) {
  return (copied?: PartInState<unknown>): CopyPolicy => ({
    maxAgeMs: copied?.state === announced ? LONGEST_MS : limits.maxAgeMs,
    graceMs: copied && copied.state >= announced ? limits.graceMs : 0,
  });
}

/** Returns a function that gives the owner of the copies of a mount. @param name prefix of the types of its log lines. */
export function ownersOfCopies(name: string): (mount: Mount) => LoggedOwner {
  const owners = new GenerationalCache<string, LoggedOwner>(1_000);
  return ({ uuid, path }) => {
    const owner = owners.get(uuid) ?? new LoggedOwner(name, { mount: path });
    owners.set(uuid, owner, 1);
    return owner;
  };
}

/**
 * Changes a configuration of which isolates keep copies, and announces the change before it is answered. It takes
 * effect here at once, and in other isolates within POLICY_CACHE_SECONDS. After a crash in between, the change is not
 * acknowledged and takes effect in other isolates within a minute.
 *
 * @param forget drops the copies of this isolate.
 */
export async function changeAndAnnounce<P>(
  env: SystemEnv,
  { uuid }: Pick<Mount, "uuid">,
  object: { configurationState(): Promise<number> },
  forget: () => void,
  change: () => P,
): Promise<Awaited<P>> {
  try {
    return await change();
  } finally {
    // Also after a failure: the object may have made the change before its answer was lost.
    forget();
    await systemOf(env).announceMethodState(uuid, await object.configurationState());
  }
}
