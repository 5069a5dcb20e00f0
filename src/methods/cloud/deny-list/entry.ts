/** A role tag that nobody may use any more. Times in ms. */
export interface DenyEntry {
  readonly createdAt: number;
  /** When no token that the tag gave can be alive any more. */
  readonly expiresAt: number;
}

/** What a read shows. */
export function renderDenyEntry(entry: DenyEntry): Record<string, unknown> {
  return {
    creation_time: new Date(entry.createdAt).toISOString(),
    expiration_time: new Date(entry.expiresAt).toISOString(),
  };
}
