import type { TeamToken } from "./record.ts";

/** The last use is written at most this often; in between it is only remembered. */
const WRITE_EVERY_MS = 60_000;

/** The last uses of a team's tokens that may not be written yet. */
export class LastUses {
  /** By token id, in ms. */
  readonly #times = new Map<string, number>();

  /** Remembers a use. @param now ms. @returns the token as it has to be written, or null while that can wait. */
  note(token: TeamToken, now: number): TeamToken | null {
    this.#times.set(token.tokenId, now);
    const isRecent = token.lastUsedAt !== null && now - token.lastUsedAt < WRITE_EVERY_MS;
    return isRecent ? null : { ...token, lastUsedAt: now };
  }

  /** The token with its last use, written or not. */
  shown(token: TeamToken): TeamToken {
    return { ...token, lastUsedAt: this.#times.get(token.tokenId) ?? token.lastUsedAt };
  }

  forget(tokenIds: readonly string[]): void {
    for (const tokenId of tokenIds) this.#times.delete(tokenId);
  }

  clear(): void {
    this.#times.clear();
  }
}
