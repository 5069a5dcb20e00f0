import { metadataNames } from "../config/identity.ts";

/** Text values by name, in the inner vocabulary. */
export type Metadata = Readonly<Record<string, string>>;

/** What a mount chose to tell about a holder. What does not exist for this one is left out. */
export function chosenMetadata(configured: readonly string[] | null, available: Metadata): Metadata {
  const names = metadataNames(configured).filter((name) => (available[name] ?? "") !== "");
  return Object.fromEntries(names.map((name) => [name, available[name] ?? ""]));
}
