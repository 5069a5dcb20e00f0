import type { TemplateEntity, TemplateGroup } from "../policy/template.ts";

/** Text values by name. */
export type Metadata = Readonly<Record<string, string>>;

/** A user or a machine that tokens are made for, whatever method it logs in with. Times in ms. */
export interface EntityRecord {
  readonly id: string;
  /** As sent; unique without regard to case. */
  readonly name: string;
  readonly metadata: Metadata;
  /** Normalised; never `root`. */
  readonly policies: readonly string[];
  /** True: its tokens are refused, but live on. */
  readonly disabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly aliases: readonly AliasRecord[];
  readonly directGroupIds: readonly string[];
  /** Groups that it is in through other groups only. */
  readonly inheritedGroupIds: readonly string[];
}

/** The name of an alias on its mount. */
export interface AliasPlace {
  readonly mountAccessor: string;
  /** As sent; compared without regard to case. */
  readonly name: string;
}

/** The name that an auth mount knows an entity by, as it is kept with its entity. Times in ms. */
export interface EntityAlias extends AliasPlace {
  readonly id: string;
  /** What the auth method said at the last login. */
  readonly metadata: Metadata;
  /** What an operator wrote. */
  readonly customMetadata: Metadata;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An alias with its entity. An entity has at most one on a mount, and a name on a mount belongs to one entity. */
export interface AliasRecord extends EntityAlias {
  readonly entityId: string;
}

/** What is said of an alias: by the auth method at a login (null for nothing), and by an operator. */
export interface SaidOfAlias {
  readonly metadata: Metadata | null;
  readonly customMetadata: Metadata;
}

/** A group whose members operators write. */
export const INTERNAL_GROUP = "internal";
/** A group whose members an auth mount names at their logins. */
export const EXTERNAL_GROUP = "external";
export type GroupType = typeof INTERNAL_GROUP | typeof EXTERNAL_GROUP;

/** The name that an auth mount knows an external group by. Times in ms. */
export interface GroupAliasRecord extends AliasPlace {
  readonly id: string;
  readonly groupId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Fields of a write of a group alias. */
export interface GroupAliasWrite extends AliasPlace {
  /** null keeps the group, or makes one for a new alias. */
  readonly groupId: string | null;
}

/** Entities and groups that share policies. Times in ms. */
export interface GroupRecord {
  readonly id: string;
  readonly type: GroupType;
  /** Of an external group, if it has one. */
  readonly alias: GroupAliasRecord | null;
  /** As sent; unique without regard to case. */
  readonly name: string;
  readonly metadata: Metadata;
  /** Normalised; never `root`. */
  readonly policies: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly memberEntityIds: readonly string[];
  readonly memberGroupIds: readonly string[];
  readonly parentGroupIds: readonly string[];
}

/** What requests need of an entity, without what its groups add. */
export interface EntityState {
  /** Another one after every change of the entity, its aliases or the groups that it is in itself. */
  readonly revision: string;
  readonly disabled: boolean;
  /** Its own; normalised, never `root`. */
  readonly policies: readonly string[];
  readonly entity: TemplateEntity;
  /** Ids of the groups that it is in itself. */
  readonly groupIds: readonly string[];
}

/** What requests need of a group: it without its members. */
export interface GroupState {
  readonly group: TemplateGroup;
  /** Normalised; never `root`. */
  readonly policies: readonly string[];
  /** Ids of the groups that it is in itself. */
  readonly parentIds: readonly string[];
  /** Of an external group, if it has one. */
  readonly alias: AliasPlace | null;
  /** True when something of it was tampered with: then what it adds to its members is unknown, and the rest is empty. */
  readonly tampered: boolean;
}

/** All groups. */
export interface AllGroups {
  /** Another one after every change of what is here. */
  readonly revision: number;
  readonly groups: readonly GroupState[];
}

/** An entity as requests need it: what it adds to the policies of a token, and the values of templates. */
export interface EntityView {
  /** Another one after every change of the entity, its aliases or the groups. */
  readonly revision: string;
  readonly disabled: boolean;
  /** Of the entity and all its groups; sorted, without repeats. */
  readonly policies: readonly string[];
  readonly entity: TemplateEntity;
  readonly groups: readonly TemplateGroup[];
}

/** Fields of a write; null keeps what is there. */
export interface EntityWrite {
  readonly name: string | null;
  readonly metadata: Metadata | null;
  readonly policies: readonly string[] | null;
  readonly disabled: boolean | null;
}

/** Fields of a write; null keeps what is there. */
export interface AliasWrite {
  readonly name: string | null;
  readonly mountAccessor: string | null;
  readonly entityId: string | null;
  readonly customMetadata: Metadata | null;
}

/** Fields of a write; null keeps what is there. */
export interface GroupWrite {
  readonly name: string | null;
  readonly type: GroupType | null;
  readonly metadata: Metadata | null;
  readonly policies: readonly string[] | null;
  readonly memberEntityIds: readonly string[] | null;
  readonly memberGroupIds: readonly string[] | null;
}

/** What the directory decides about an entity, and its shard has a copy of. */
export interface DirectoryEntry {
  readonly entityId: string;
  /** null for one that no operator has named. */
  readonly name: string | null;
  /** Ids of the groups that it is in itself; null when a row about it was tampered with: then they are unknown. */
  readonly groupIds: readonly string[] | null;
}

/** What came of a write of an entity or a group. */
export interface Written {
  readonly id: string;
  readonly name: string;
  readonly created: boolean;
}
