import type { Ms } from "../base/clock.ts";
import type { TemplateEntity, TemplateGroup } from "../policy/template.ts";

/** How a request names an entity or a group. */
export type IdOrName = { readonly id: string } | { readonly name: string };

export type EntityMetadata = Readonly<Record<string, string>>;

/** A user or machine for which tokens are issued, independent of the auth method of its logins. */
export interface EntityRecord {
  readonly id: string;
  /** As sent; unique without regard to case. */
  readonly name: string;
  readonly metadata: EntityMetadata;
  /** Normalised; never `root`. */
  readonly policies: readonly string[];
  /** True: its tokens are refused, but not revoked. */
  readonly disabled: boolean;
  readonly createdAt: Ms;
  readonly updatedAt: Ms;
  readonly aliases: readonly AliasRecord[];
  /** Ids of the entities that were merged into it, directly or before. Their tokens act for it. */
  readonly mergedIds: readonly string[];
  readonly directGroupIds: readonly string[];
  /** Groups that it is a member of only through other groups. */
  readonly inheritedGroupIds: readonly string[];
}

/** The name of an alias on its mount. */
export interface AliasPlace {
  readonly mountAccessor: string;
  /** As sent; compared without regard to case. */
  readonly name: string;
}

/** The name by which an auth mount knows an entity, as stored with the entity. */
export interface EntityAlias extends AliasPlace {
  readonly id: string;
  /** From the auth method, at the last login. */
  readonly metadata: EntityMetadata;
  /** From an operator. */
  readonly customMetadata: EntityMetadata;
  readonly createdAt: Ms;
  readonly updatedAt: Ms;
}

/**
 * An alias with its entity. An entity has at most one alias on a mount, and a name on a mount belongs to one entity.
 */
export interface AliasRecord extends EntityAlias {
  readonly entityId: string;
}

/** Metadata of an alias: from the auth method at a login (null when it gives none), and from an operator. */
export interface AliasMetadata {
  readonly metadata: EntityMetadata | null;
  readonly customMetadata: EntityMetadata;
}

/** Operators set the members of an internal group. The members of an external group are set when entities log in. */
export type GroupType = "internal" | "external";

/** The name by which an auth mount knows an external group. */
export interface GroupAliasRecord extends AliasPlace, Pick<EntityAlias, "id" | "createdAt" | "updatedAt"> {
  readonly groupId: string;
}

export interface GroupAliasWrite extends AliasPlace {
  /** null keeps the group, or creates one for a new alias. */
  readonly groupId: string | null;
}

/** Entities and groups that share policies. */
export interface GroupRecord
  extends Pick<EntityRecord, "id" | "name" | "metadata" | "policies" | "createdAt" | "updatedAt"> {
  readonly type: GroupType;
  /** Alias of an external group; null without one. */
  readonly alias: GroupAliasRecord | null;
  readonly memberEntityIds: readonly string[];
  readonly memberGroupIds: readonly string[];
  readonly parentGroupIds: readonly string[];
}

/** The data of an entity that requests need, without the policies of its groups. */
export interface EntityState {
  /** Changes with every change of the entity, its aliases or its direct groups. */
  readonly revision: string;
  readonly disabled: boolean;
  /** Policies of the entity itself; normalised, never `root`. */
  readonly policies: readonly string[];
  readonly entity: TemplateEntity;
  /** Ids of its direct groups. */
  readonly groupIds: readonly string[];
}

/** The answer for an entity that was merged into another one. */
export interface MergedInto {
  readonly mergedInto: string;
}

/** The data of a group that requests need: all but its members. */
export interface GroupState {
  readonly group: TemplateGroup;
  /** Normalised; never `root`. */
  readonly policies: readonly string[];
  /** Ids of the groups that have it as a direct member. */
  readonly parentIds: readonly string[];
  /** Alias of an external group; null without one. */
  readonly alias: AliasPlace | null;
  /** True when its row, or one about its parents, was tampered with: name and policies are unknown, and empty here. */
  readonly tampered: boolean;
}

export interface AllGroups {
  /** Changes with every change of this data. */
  readonly revision: number;
  readonly groups: readonly GroupState[];
}

/** An entity as requests need it: the policies that it adds to a token, and the values for policy templates. */
export interface EntityView extends Pick<EntityState, "disabled" | "entity"> {
  /** Changes with every change of the entity, its aliases or the groups. */
  readonly revision: string;
  /** Of the entity and all its groups; sorted, without repeats. */
  readonly policies: readonly string[];
  readonly groups: readonly TemplateGroup[];
}

/** These fields of a record as a write has them; null keeps the stored value. */
type Write<Thing, Field extends keyof Thing> = { readonly [Name in Field]: Thing[Name] | null };

export type EntityWrite = Write<EntityRecord, "name" | "metadata" | "policies" | "disabled">;
export type AliasWrite = Write<AliasRecord, "name" | "mountAccessor" | "entityId" | "customMetadata">;
export type GroupWrite = Write<
  GroupRecord,
  "name" | "type" | "metadata" | "policies" | "memberEntityIds" | "memberGroupIds"
>;

/** The data about an entity that the directory decides. The entity's shard stores a copy. */
export interface DirectoryEntry {
  readonly entityId: string;
  /** Name that an operator gave it; null for none. */
  readonly name: string | null;
  /** Ids of its direct groups; null when they are unknown, because a row about the entity was tampered with. */
  readonly groupIds: readonly string[] | null;
}

export interface Written extends Pick<EntityRecord, "id" | "name"> {
  readonly created: boolean;
}
