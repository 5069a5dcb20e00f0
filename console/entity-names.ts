import { BatchedReads } from "./batched-reads.ts";

/** How long a name is used (ms), also that none can be read. */
const FRESH_MS = 60_000;
/** Most entities that one call is about, and most calls at once. */
const MOST_OF_CALL = 100;
const MOST_CALLS = 5;

/** Generated names of entities. */
const GENERATED = /^entity_[0-9a-f]+/;

/** True for a name that says nothing to people. */
export const isGenerated = (name: string): boolean => GENERATED.test(name);

/** What is needed of an entity, as a list or the entity itself has it. */
interface NamedEntity {
  readonly name: string;
  readonly aliases: readonly {
    readonly name: string;
    readonly metadata?: Readonly<Record<string, string>> | null;
  }[];
}

/**
 * How people call an entity: the name that it was given, or else what its logins call it: a `name` that they copied
 * into the metadata, as a provider's `sub` is no name, or that of an alias.
 */
export function entityName({ name, aliases }: NamedEntity): string {
  if (!isGenerated(name)) return name;
  const said = aliases.map((alias) => alias.metadata?.name || alias.name).find((one) => one !== "");
  return said ?? name;
}

/** Names by id or accessor; "" for one that is gone, or that the token may not read. */
export type Names = BatchedReads<string>;

/** Names that are read by `ask`; what it leaves out, or may not read, has none. */
export const namesBy = (ask: (keys: readonly string[]) => Promise<readonly (readonly [string, string])[]>): Names =>
  new BatchedReads(async (keys) => Object.fromEntries(await ask(keys)), "", FRESH_MS);

/** The names of entities. @param lookUp answers about at most `MOST_OF_CALL` of them, with nothing when it is refused */
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
