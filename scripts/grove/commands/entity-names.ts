import * as z from "zod";
import type { AuditEvent } from "../answer-schemas.ts";
import { isAllowed } from "../capabilities.ts";
import type { GroveClient } from "../client.ts";

const ALIAS = z.looseObject({ name: z.string(), metadata: z.record(z.string(), z.string()).nullish() });
const ENTITY = z.looseObject({ name: z.string(), aliases: z.array(ALIAS).default([]) });
const FOUND = z.object({ key_info: z.record(z.string(), ENTITY) });
/** A generated name, which says nothing to people. */
const GENERATED = /^entity_[0-9a-f]+/;
/** The form of the id of an entity. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Most entities of one look-up, and most look-ups. */
const MOST_OF_CALL = 100;
const MOST_CALLS = 10;

/** The names of the entities of events, as `namesOfEntities`. */
export function entityNames(client: GroveClient, events: readonly AuditEvent[]): Promise<ReadonlyMap<string, string>> {
  return namesOfEntities(
    client,
    events.flatMap(({ target_entities: ids = [] }) => ids),
  );
}

/**
 * Returns the names of entities, by id: where one was generated, what a login calls the entity, as in the console. Of
 * more than a thousand some names are missing. Without the right to look entities up there are no names.
 *
 * @param ids other texts among them have no name.
 */
export async function namesOfEntities(
  client: GroveClient,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const asked = [...new Set(ids.filter((id) => ID.test(id)))].slice(0, MOST_OF_CALL * MOST_CALLS);
  const path = "identity/lookup/entities";
  const names = new Map<string, string>();
  if (asked.length === 0 || !(await isAllowed(client, path, ["update"]))) return names;
  for (let at = 0; at < asked.length; at += MOST_OF_CALL) {
    const found = await client.post(path, FOUND, { ids: asked.slice(at, at + MOST_OF_CALL) });
    for (const [id, entity] of found.ok ? Object.entries(found.value.key_info) : []) names.set(id, nameOf(entity));
  }
  return names;
}

/** The metadata field `name` of a login comes first, because the alias of an OIDC login is its `sub`. */
function nameOf({ name, aliases }: z.infer<typeof ENTITY>): string {
  if (!GENERATED.test(name)) return name;
  return aliases.map((alias) => alias.metadata?.name || alias.name).find((one) => one !== "") ?? name;
}
