import { inTime } from "../base/in-time.ts";
import type { Env } from "../env.ts";
import { isAnnounced } from "../system/expected-changes.ts";
import { freshInstallation } from "../system/installation.ts";
import { systemOf } from "../system/system.ts";
import { ENTITY_SHARDS, shardThatTells } from "./shard/place.ts";

/** The part of all groups; those of entities have the numbers of the shards that tell of them. */
export const GROUPS_PART = ENTITY_SHARDS;

/** How long (ms) a login waits for the system object. */
const PATIENCE_MS = 1_000;

/** What an object has announced of the changes that it makes, see `system/expected-changes.ts`. */
export class Announcements {
  readonly #env: Env;
  readonly #announced = new Map<number, number>();

  constructor(env: Env) {
    this.#env = env;
  }

  /** Those of the parts in which a change at `now` (ms) is not expected yet. */
  lacking(parts: Iterable<number>, now: number): number[] {
    return [...new Set(parts)].filter((part) => !isAnnounced(this.#announced.get(part), now));
  }

  /** Announces changes at `now` (ms) before they are made. */
  async announce(parts: readonly number[], now: number): Promise<void> {
    if (parts.length === 0) return;
    await systemOf(this.#env).announceChanges(parts, now);
    for (const part of parts) this.#announced.set(part, now);
  }

  /**
   * The same for what a login says: the login goes on while the system object is slow or away. What it says holds elsewhere within
   * a minute then.
   */
  async tryToAnnounce(parts: readonly number[], now: number): Promise<void> {
    try {
      await inTime(this.announce(parts, now), PATIENCE_MS);
    } catch (error) {
      console.error(JSON.stringify({ type: "announcement", error: String(error) }));
    }
  }
}

/** When a change of an entity was last announced, as this isolate knows; undefined for never, null when its copy is too old. */
export function entityAnnouncedAt(env: Env, id: string): number | undefined | null {
  return announcedAt(env, shardThatTells(id));
}

/** The same for groups. */
export function groupsAnnouncedAt(env: Env): number | undefined | null {
  return announcedAt(env, GROUPS_PART);
}

function announcedAt(env: Env, part: number): number | undefined | null {
  const changes = freshInstallation(env)?.expectedChanges;
  return changes ? changes.get(part) : null;
}
