import { type Mistake, namesIn, type RecordValue } from "../records/field.ts";
import { isUuid } from "../uuid.ts";

/** The fields of a group that hold ids, with the kind of what these are of. */
const MEMBERS = [
  ["member_entity_ids", "entity"],
  ["member_group_ids", "group"],
] as const;

type Kind = (typeof MEMBERS)[number][1];

/** What can be a member. */
export interface Listed {
  readonly id: string;
  /** Its own name, which no other has. */
  readonly name: string;
  /** The name that people know it by. */
  readonly called: string;
}

/** Names that lead to ids, and the name that each id is shown by. */
export interface KnownNames {
  readonly idOf: ReadonlyMap<string, string>;
  readonly nameOf: ReadonlyMap<string, string>;
}

/** A name that the field of names takes as one. */
const isOneName = (name: string): boolean => namesIn(name).length === 1 && namesIn(name)[0] === name;

/** The names of a list. One for people counts if no other has it, as its own name or for people. */
export function knownNames(listed: readonly Listed[]): KnownNames {
  const counts = Map.groupBy(
    listed.flatMap(({ name, called }) => [...new Set([name, called])]),
    (name) => name,
  );
  const usable = (name: string): boolean => isOneName(name) && counts.get(name)?.length === 1;
  const named = listed.map(({ id, name, called }) => ({ id, names: [called, name].filter(usable) }));
  return {
    idOf: new Map(named.flatMap(({ id, names }) => names.map((name) => [name, id] as const))),
    nameOf: new Map(named.flatMap(({ id, names: [name] }) => (name === undefined ? [] : [[id, name] as const]))),
  };
}

export type KnownMembers = Readonly<Record<Kind, KnownNames>>;

/** The members of a group by their names, where these are known. */
export const withMemberNames = (group: RecordValue, known: KnownMembers): RecordValue =>
  mapped(group, (kind, id) => known[kind].nameOf.get(id) ?? id);

/** The same by their ids. */
export const withMemberIds = (values: RecordValue, known: KnownMembers): RecordValue =>
  mapped(values, (kind, text) => known[kind].idOf.get(text) ?? text);

/** The mistake in a field with a name that nothing has. The server checks ids. */
export function memberMistake(values: RecordValue, known: KnownMembers): Mistake | null {
  for (const [field, kind] of MEMBERS) {
    const unknown = textsOf(values[field]).filter((text) => !known[kind].idOf.has(text) && !isUuid(text));
    const text = `There is no ${kind} ${unknown.join(", ")}: pick one, or type its id`;
    if (unknown.length > 0) return { field, text };
  }
  return null;
}

/** The names that can be added to each field. */
export const offeredMembers = (known: KnownMembers): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(MEMBERS.map(([field, kind]) => [field, [...known[kind].nameOf.values()]]));

const mapped = (values: RecordValue, change: (kind: Kind, text: string) => string): RecordValue => ({
  ...values,
  ...Object.fromEntries(
    MEMBERS.flatMap(([field, kind]) =>
      Array.isArray(values[field]) ? [[field, textsOf(values[field]).map((text) => change(kind, text))]] : [],
    ),
  ),
});

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
