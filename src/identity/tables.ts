import type { AliasStore } from "./alias-store.ts";
import type { EntityStore } from "./entity-store.ts";
import type { GroupAliasStore } from "./group-alias-store.ts";
import type { GroupStore } from "./group-store.ts";

/** The tables of `Identity`. What compares one with another is decided in the step that writes. */
export interface IdentityTables {
  readonly entities: EntityStore;
  readonly aliases: AliasStore;
  readonly groups: GroupStore;
  readonly groupAliases: GroupAliasStore;
}
