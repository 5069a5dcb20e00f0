import * as z from "zod";
import type { AuditEvent } from "../answer-schemas.ts";
import { isAllowed } from "../capabilities.ts";
import type { GroveClient } from "../client.ts";

const LIST = z.object({ key_info: z.record(z.string(), z.looseObject({ name: z.string() })) });
/** Most entities whose names are read: one page. */
const PAGE_SIZE = "1000";

/**
 * Returns the names of the entities of events, by id. Reads one page of the list, from the first such entity on, so
 * with many entities some names are missing. Without the right to list entities there are no names.
 */
export async function entityNames(
  client: GroveClient,
  events: readonly AuditEvent[],
): Promise<ReadonlyMap<string, string>> {
  const [first] = events.flatMap(({ target_entities: ids = [] }) => ids).sort();
  if (first === undefined) return new Map();
  // The page begins after this text, which sorts just before the id.
  const after = first.slice(0, -1);
  const path = "identity/entity/id";
  if (!(await isAllowed(client, path, ["list"]))) return new Map();
  const list = await client.get(path, LIST, { list: "true", limit: PAGE_SIZE, after });
  return new Map(list.ok ? Object.entries(list.value.key_info).map(([id, { name }]) => [id, name]) : []);
}
