import type { AliasRecord } from "../model.ts";
import { allAliasesOf, hasOnly } from "./alias-rules.ts";
import { withMerged, withoutMerged } from "./entity.ts";
import type { EntityStore } from "./entity-store.ts";
import type { MergedStore } from "./merged-store.ts";

/** What a merge of entities changes in a shard. */
export class Merges {
  readonly #entities: EntityStore;
  readonly #merged: MergedStore;

  constructor(entities: EntityStore, merged: MergedStore) {
    this.#entities = entities;
    this.#merged = merged;
  }

  /** See `EntityShard.addMerged`. */
  add(id: string, mergedIds: readonly string[]): boolean {
    const found = this.#entities.good(id);
    if (found) this.#entities.update(found, withMerged(found.entity, mergedIds));
    return found !== null;
  }

  /** See `EntityShard.removeMerged`. */
  remove(id: string, mergedIds: readonly string[]): void {
    const found = this.#entities.good(id);
    if (found) this.#entities.update(found, withoutMerged(found.entity, mergedIds));
  }

  /** See `EntityShard.mergeInto`. */
  mergeInto(
    id: string,
    target: string,
    leaving: readonly AliasRecord[],
  ): { readonly merged: boolean; readonly aliases: AliasRecord[] } | null {
    const found = this.#entities.good(id);
    if (!found) return null;
    const aliases = allAliasesOf(found.entity);
    if (!hasOnly(found.entity, leaving)) return { merged: false, aliases };
    this.#merged.put(id, target);
    this.#entities.delete(id);
    return { merged: true, aliases };
  }

  /** See `EntityShard.redirectMerged`. */
  redirect(ids: readonly string[], target: string): string[] {
    return ids.filter((id) => {
      const before = this.#merged.targetOf(id);
      if (before !== null && before !== target) this.#merged.put(id, target);
      return before !== null;
    });
  }

  /** See `EntityShard.mergedAmong`. */
  among(ids: readonly string[], target: string): string[] {
    return ids.filter((id) => this.#entities.byId(id) === null && this.#merged.targetOf(id) === target);
  }
}
