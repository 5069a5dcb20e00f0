import { currentTime } from "../base/clock.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { inGroups } from "../base/parallel.ts";
import type { Env } from "../env.ts";
import { isWithin } from "../system/copy-age.ts";
import { Announcements, GROUPS_PART } from "./announcements.ts";
import { shardThatTells } from "./shard/place.ts";
import { entityShard } from "./shard/stub.ts";

/** For so long (ms) after a recall an entity is not lent: another change may follow, as of an alias that many log in by. */
const RECALLED_MS = 10_000;
/** Entities in one generation of those that were recalled. */
const MAX_RECALLED = 4096;

/** What the tables of `Identity` note of a change that is being made. */
export interface ChangeNotes {
  /** Something changes about an entity: its row, its aliases or which groups it is in itself. */
  changed(entityId: string): void;
  /** An entity is made: nobody has a copy of it. */
  made(entityId: string): void;
  /** Something changes about a group. */
  groupsChanged(): void;
}

/** Who changes something: an operator, or a login, which does not wait for anything that is away. */
export type Changer = "operator" | "login";

/**
 * Which entities of `Identity` shards have copies of. Invariant: a shard that has a copy is noted here, and nothing of the entity
 * changes for as long as it is noted. So a copy that a shard has is true.
 */
export class Lending {
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  readonly #announcements: Announcements;
  /** The entities that the change which is being made changes, and those that it makes. */
  readonly #changing = new Set<string>();
  readonly #making = new Set<string>();
  #groupsChange = false;
  /** How many recalls of the copies of entities are under way. */
  readonly #recalling = new Map<string, number>();
  /** When copies of entities were recalled (ms). */
  readonly #recalled = new GenerationalCache<string, number>(MAX_RECALLED);
  /** The tables call these with every write. */
  readonly notes: ChangeNotes = {
    changed: (entityId) => void this.#changing.add(entityId),
    made: (entityId) => void this.#making.add(entityId),
    groupsChanged: () => {
      this.#groupsChange = true;
    },
  };

  constructor(env: Env, storage: DurableObjectStorage) {
    this.#env = env;
    this.#storage = storage;
    this.#announcements = new Announcements(env);
  }

  /** Notes that the shard gets a copy, before it is sent. `now` in ms. @returns false when it may not keep it. */
  lend(entityId: string, now: number): boolean {
    if (this.#recalling.has(entityId)) return false;
    if (isWithin(this.#recalled.get(entityId) ?? Number.NEGATIVE_INFINITY, RECALLED_MS, now)) return false;
    this.#storage.sql.exec("INSERT OR IGNORE INTO lent (entity_id) VALUES (?)", entityId);
    return true;
  }

  /**
   * Makes a change in one transaction when isolates expect it and no shard has a copy of an entity that it changes. It is announced
   * and copies are recalled before: until the change is made they are true, and after a crash in between they are missing at most.
   * When that can't be done the change is not made; that of a login is made without the announcement.
   */
  async change<T>(write: () => T, changer: Changer): Promise<T> {
    for (let triedToAnnounce = false; ; triedToAnnounce = changer === "login") {
      const now = currentTime();
      const attempt = this.#attempt(write, triedToAnnounce, now);
      if (attempt.made) return attempt.value;
      const { unannounced, lent } = attempt.needs;
      if (changer === "login") await this.#announcements.tryToAnnounce(unannounced, now);
      else await this.#announcements.announce(unannounced, now);
      await this.#recall(lent);
    }
  }

  /** Makes a change, unless something has to be done before: then nothing is written. */
  #attempt<T>(
    write: () => T,
    triedToAnnounce: boolean,
    now: number,
  ): { made: true; value: T } | { made: false; needs: Needs } {
    try {
      return this.#storage.transactionSync(() => {
        this.#changing.clear();
        this.#making.clear();
        this.#groupsChange = false;
        const value = write();
        const changed = [...this.#changing].filter((id) => !this.#making.has(id));
        const parts = [...changed.map(shardThatTells), ...(this.#groupsChange ? [GROUPS_PART] : [])];
        const unannounced = triedToAnnounce ? [] : this.#announcements.lacking(parts, now);
        const lent = this.#lentAmongst(changed);
        if (unannounced.length + lent.length > 0) throw new NotYet({ unannounced, lent });
        return { made: true, value };
      });
    } catch (error) {
      if (error instanceof NotYet) return { made: false, needs: error.needs };
      throw error;
    }
  }

  /** Has the shards forget their copies. They get no other ones meanwhile and for a while, so that the change is made in the end. */
  async #recall(entityIds: readonly string[]): Promise<void> {
    if (entityIds.length === 0) return;
    const byShard = [...Map.groupBy(entityIds, shardThatTells)];
    for (const id of entityIds) this.#recalling.set(id, (this.#recalling.get(id) ?? 0) + 1);
    try {
      await inGroups(byShard, ([shard, ids]) => entityShard(this.#env, shard).forgetCopies(ids));
      const ids = JSON.stringify(entityIds);
      this.#storage.sql.exec("DELETE FROM lent WHERE entity_id IN (SELECT value FROM json_each(?))", ids);
    } finally {
      const now = currentTime();
      for (const id of entityIds) {
        const others = (this.#recalling.get(id) ?? 0) - 1;
        if (others > 0) this.#recalling.set(id, others);
        else this.#recalling.delete(id);
        this.#recalled.set(id, now, 1);
      }
    }
  }

  #lentAmongst(entityIds: readonly string[]): string[] {
    if (entityIds.length === 0) return [];
    const query = "SELECT entity_id FROM lent WHERE entity_id IN (SELECT value FROM json_each(?))";
    return this.#storage.sql
      .exec<{ entity_id: string }>(query, JSON.stringify(entityIds))
      .toArray()
      .map((row) => row.entity_id);
  }
}

/** What has to be done before a change. */
interface Needs {
  /** Parts of which isolates expect no changes. */
  readonly unannounced: readonly number[];
  /** Ids of entities of which shards have copies. */
  readonly lent: readonly string[];
}

/** Ends a transaction that would make a change too early. */
class NotYet extends Error {
  readonly needs: Needs;

  constructor(needs: Needs) {
    super("something has to be done before this change");
    this.needs = needs;
  }
}
