/** Generated names of entities. */
const GENERATED = /^entity_[0-9a-f]+/;

/** The name of the user: that of the entity, or that of the token where the entity has none or a generated one. */
export const nameOf = (entity: string, displayName: string): string =>
  entity !== "" && !GENERATED.test(entity) ? entity : displayName || "token";
