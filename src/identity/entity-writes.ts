import { type Failure, invalid } from "../base/errors.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { EntityStore } from "./entity-store.ts";
import type { EntityWrite, Written } from "./model.ts";

/**
 * Creates or changes an entity. With an id it must exist; a name finds the entity that has it. Messages are the reference's
 * (identity/entity).
 *
 * @param newName the name for a new entity that is given none.
 * @param now ms.
 */
export function writeEntity(
  entities: EntityStore,
  id: string | null,
  write: EntityWrite,
  newId: string,
  newName: string,
  now: number,
): Result<Written, Failure> {
  const byId = id === null ? null : entities.byId(id);
  if (id !== null && !byId) return err(invalid("entity not found from id"));
  const byName = write.name === null ? null : entities.byName(write.name);
  if (byId && byName && byName.id !== byId.id) return err(invalid("entity name is already in use"));
  const row = byId ?? byName;
  if (row) {
    entities.update(row, write, now);
    return ok({ id: row.id, name: write.name ?? row.name, created: false });
  }
  const name = write.name ?? newName;
  entities.insert(newId, name, write, now);
  return ok({ id: newId, name, created: true });
}
