/** Names of entities that no operator has named. */
const GENERATED = /^entity_[0-9a-f]+/;

/** The name of whoever is signed in. A generated name of an entity says less than that of the token. */
export const nameOf = (entity: string, displayName: string): string =>
  entity !== "" && !GENERATED.test(entity) ? entity : displayName || "token";
