import { normalizePolicyNames } from "../policy/name.ts";
import type { Groups } from "./groups.ts";
import type { EntityState, EntityView } from "./model.ts";

/**
 * An entity as requests need it.
 *
 * @param groups all of them; null for an entity that is in none.
 * @returns null when one that it is in was tampered with: without it, what its policies deny would be granted by others.
 */
export function entityView(state: EntityState, groups: Groups | null): EntityView | null {
  const { revision, disabled, policies, entity, groupIds } = state;
  const above = groups?.above(groupIds) ?? [];
  if (above.some(({ tampered }) => tampered)) return null;
  return {
    revision: groups ? `${revision}.${groups.revision}` : revision,
    disabled,
    policies: normalizePolicyNames([...policies, ...above.flatMap((group) => group.policies)]),
    entity,
    groups: above.map(({ group }) => group).sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}
