import * as z from "zod";
import type { AuditEvent } from "../answer-schemas.ts";
import { isAllowed } from "../capabilities.ts";
import type { GroveClient } from "../client.ts";

const LIST = z.object({ key_info: z.record(z.string(), z.looseObject({ name: z.string() })) });
/** The form of the id of an entity. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Most entities whose names are read: one page. */
const PAGE_SIZE = "1000";

/** The names of the entities of events, as `namesOfEntities`. */
export function entityNames(client: GroveClient, events: readonly AuditEvent[]): Promise<ReadonlyMap<string, string>> {
  return namesOfEntities(
    client,
    events.flatMap(({ target_entities: ids = [] }) => ids),
  );
}

/**
 * Returns the names of entities, by id. Reads one page of the list, from the first of them on, so with many entities
 * some names are missing. Without the right to list entities there are no names.
 *
 * @param ids other texts among them have no name.
 */
export async function namesOfEntities(
  client: GroveClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const [first] = ids.filter((id) => ID.test(id)).sort();
  if (first === undefined) return new Map();
  // The page begins after this text, which sorts just before the id.
  const after = first.slice(0, -1);
  const path = "identity/entity/id";
  if (!(await isAllowed(client, path, ["list"]))) return new Map();
  const list = await client.get(path, LIST, { list: "true", limit: PAGE_SIZE, after });
  return new Map(list.ok ? Object.entries(list.value.key_info).map(([id, { name }]) => [id, name]) : []);
}
