import { normalizePolicyNames } from "../policy/name.ts";
import type { Groups } from "./groups.ts";
import type { EntityState, EntityView, GroupState } from "./model.ts";

/**
 * An entity as requests need it.
 *
 * @param groups all of them; null for an entity that is in none.
 * @returns null when one that it is in was tampered with: without it, what its policies deny would be granted by others.
 */
export function entityView(state: EntityState, groups: Groups | null): EntityView | null {
  const { revision, disabled, policies, entity, groupIds } = state;
  const above = groups?.above(groupIds) ?? [];
  const all = policiesWith(policies, above);
  return (
    all && {
      revision: groups ? `${revision}.${groups.revision}` : revision,
      disabled,
      policies: all,
      entity,
      groups: above.map(({ group }) => group).sort((a, b) => (a.id < b.id ? -1 : 1)),
    }
  );
}

/** The policies of an entity with those of the groups that it is in; null when one of these was tampered with. */
export function policiesWith(own: readonly string[], above: readonly GroupState[]): readonly string[] | null {
  if (above.some(({ tampered }) => tampered)) return null;
  return normalizePolicyNames([...own, ...above.flatMap(({ policies }) => policies)]);
}
