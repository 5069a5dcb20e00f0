import { BatchedReads } from "./batched-reads.ts";

/** How long a name is cached (ms), also the absence of a name. */
const FRESH_MS = 60_000;
/** Most entities in one request, and most requests in parallel. */
const MOST_OF_CALL = 100;
const MOST_CALLS = 5;

/** Generated names of entities. */
const GENERATED = /^entity_[0-9a-f]+/;

/** True for a name that says nothing to people. */
export const isGenerated = (name: string): boolean => GENERATED.test(name);

/** The fields of an entity that its name is made of. */
interface NamedEntity {
  readonly name: string;
  readonly aliases: readonly {
    readonly name: string;
    readonly metadata?: Readonly<Record<string, string>> | null;
  }[];
}

/**
 * The name of an entity for people. If its own name was generated, this is the metadata field `name` of an alias, its
 * `role_name`, or else the name of an alias: the alias of an OIDC login is its `sub`, that of AppRole is a role-id.
 */
export function entityName({ name, aliases }: NamedEntity): string {
  if (!isGenerated(name)) return name;
  const said = aliases
    .map(({ metadata, name: alias }) => metadata?.name || metadata?.role_name || alias)
    .find((one) => one !== "");
  return said ?? name;
}

/** The same of an entity in a list, which has the names of its aliases and the `name` of their metadata apart. */
export const listedName = ({ name, display_name: said, aliases }: ListedEntity): string =>
  isGenerated(name) && said !== "" ? said : entityName({ name, aliases });

interface ListedEntity extends NamedEntity {
  readonly display_name: string;
}

/** Names by id or accessor; "" when the record is gone, or may not be read. */
export type Names = BatchedReads<string>;

/** A cache of names that are read by `ask`. Keys without an answer have the name "". */
export const namesBy = (ask: (keys: readonly string[]) => Promise<readonly (readonly [string, string])[]>): Names =>
  new BatchedReads(async (keys) => Object.fromEntries(await ask(keys)), "", FRESH_MS);

/** The names of entities. @param lookUp answers at most `MOST_OF_CALL` ids; an empty answer when it is refused */
export const namesOfEntities = (
  lookUp: (ids: readonly string[]) => Promise<Readonly<Record<string, NamedEntity>>>,
): Names =>
  namesBy(async (ids) => {
    const calls = Array.from({ length: Math.min(MOST_CALLS, Math.ceil(ids.length / MOST_OF_CALL)) }, (_, at) =>
      lookUp(ids.slice(at * MOST_OF_CALL, (at + 1) * MOST_OF_CALL)),
    );
    const found = (await Promise.all(calls)).flatMap((entities) => Object.entries(entities));
    return found.map(([id, entity]) => [id, entityName(entity)] as const);
  });
