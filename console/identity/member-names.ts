import { type Mistake, namesIn, type RecordValue } from "../records/field.ts";
import { isUuid } from "../uuid.ts";

/** The fields of a group that hold ids of members, each with the kind of its members. */
const MEMBERS = [
  ["member_entity_ids", "entity"],
  ["member_group_ids", "group"],
] as const;

type Kind = (typeof MEMBERS)[number][1];

/** An entity or a group that can be a member. */
export interface Listed {
  readonly id: string;
  /** Its own name, which is unique. */
  readonly name: string;
  /** The name that people know it by. */
  readonly called: string;
}

/** The ids by name, and the shown name by id. */
export interface KnownNames {
  readonly idOf: ReadonlyMap<string, string>;
  readonly nameOf: ReadonlyMap<string, string>;
  /** Names by which several are called, and which are the own name of none. */
  readonly shared: ReadonlySet<string>;
}

/** True for a name that a field of names does not split into several. */
const isOneName = (name: string): boolean => namesIn(name).length === 1 && namesIn(name)[0] === name;

/**
 * The usable names of a list. The name of a record identifies it. What it is called identifies it unless another record
 * is called the same, or has that name.
 */
export function knownNames(listed: readonly Listed[]): KnownNames {
  const own = new Set(listed.map(({ name }) => name));
  const counts = Map.groupBy(listed, ({ called }) => called);
  const isTaken = (called: string): boolean => own.has(called) || (counts.get(called)?.length ?? 0) > 1;
  const named = listed.map(({ id, name, called }) => ({
    id,
    names: [...(called === name || isTaken(called) ? [] : [called]), name].filter(isOneName),
  }));
  return {
    idOf: new Map(named.flatMap(({ id, names }) => names.map((name) => [name, id] as const))),
    nameOf: new Map(named.flatMap(({ id, names: [name] }) => (name === undefined ? [] : [[id, name] as const]))),
    shared: new Set([...counts.keys()].filter((called) => isTaken(called) && !own.has(called))),
  };
}

export type KnownMembers = Readonly<Record<Kind, KnownNames>>;

/** The members of a group by their names, where these are known. */
export const withMemberNames = (group: RecordValue, known: KnownMembers): RecordValue =>
  mapped(group, (kind, id) => known[kind].nameOf.get(id) ?? id);

/** The members of a group by their ids, where their names are known. */
export const withMemberIds = (values: RecordValue, known: KnownMembers): RecordValue =>
  mapped(values, (kind, text) => known[kind].idOf.get(text) ?? text);

/** The mistake in a field with an unknown name. Ids are left to the server. */
export function memberMistake(values: RecordValue, known: KnownMembers): Mistake | null {
  for (const [field, kind] of MEMBERS) {
    const wrong = textsOf(values[field]).filter((text) => !known[kind].idOf.has(text) && !isUuid(text));
    const [shared, unknown] = [true, false].map((is) => wrong.filter((text) => known[kind].shared.has(text) === is));
    const sentences = [
      ...(unknown?.length ? [`There is no ${kind} ${unknown.join(", ")}: pick one, or type its id`] : []),
      ...(shared?.length ? [`More than one is called ${shared.join(", ")}: pick one by its own name`] : []),
    ];
    if (sentences.length > 0) return { field, text: sentences.join(". ") };
  }
  return null;
}

/** Ids of groups that can't be in a group: itself, and those that it is in. */
export const outsideOf = (group: RecordValue | null): readonly string[] =>
  group === null ? [] : [...textsOf([group.id ?? ""]), ...textsOf(group.parent_group_ids)];

/** The mistake in the groups of a group that can't be in it. @param outside ids */
export function cycleMistake(values: RecordValue, known: KnownMembers, outside: readonly string[]): Mistake | null {
  const [name] = textsOf(values.member_group_ids).filter((text) =>
    outside.includes(known.group.idOf.get(text) ?? text),
  );
  if (name === undefined) return null;
  return { field: "member_group_ids", text: `${name} is this group or has it in it: no group can be in itself` };
}

/** The names that can be added to each field. @param outside ids of groups that are not offered */
export const offeredMembers = (
  known: KnownMembers,
  outside: readonly string[],
): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    MEMBERS.map(([field, kind]) => [
      field,
      [...known[kind].nameOf].flatMap(([id, name]) => (outside.includes(id) ? [] : [name])),
    ]),
  );

const mapped = (values: RecordValue, change: (kind: Kind, text: string) => string): RecordValue => ({
  ...values,
  ...Object.fromEntries(
    MEMBERS.flatMap(([field, kind]) =>
      Array.isArray(values[field]) ? [[field, textsOf(values[field]).map((text) => change(kind, text))]] : [],
    ),
  ),
});

const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
