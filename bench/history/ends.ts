import { type Creation, type HistoryEvent, latestEffect, type Revocation, type Watermark } from "./history.ts";

/** The period in which a token ends: it is alive before `begin`, and dead after `end` (ms; Infinity: perhaps never). */
export interface EndOfToken {
  readonly begin: number;
  readonly end: number;
  readonly by: string;
  /** Until when one node can refuse it and another accept it (ms): a watermark is known to all when it is answered. */
  readonly mixedUntil: number;
}

/**
 * Finds the requests that can end a token: revocations of the token and of its ancestors, and watermarks that end any
 * of them.
 */
export class EndsOfTokens {
  readonly #creations = new Map<string, Creation>();
  readonly #revocations: ReadonlyMap<string, readonly Revocation[]>;
  readonly #watermarks: ReadonlyMap<string, readonly Watermark[]>;

  constructor(history: readonly HistoryEvent[]) {
    for (const event of history) if (event.kind === "create") this.#creations.set(event.token, event);
    const revocations = history.filter((event) => event.kind === "revoke");
    this.#revocations = Map.groupBy(revocations, ({ token }) => token);
    const watermarks = history.filter((event) => event.kind === "watermark");
    this.#watermarks = Map.groupBy(watermarks, ({ group }) => group);
  }

  creation(token: string): Creation | undefined {
    return this.#creations.get(token);
  }

  /** Every period in which this token can end. */
  of(token: string): EndOfToken[] {
    const ends: EndOfToken[] = [];
    /**
     * The earliest time at which the ancestor, or a token between it and this token, may have been revoked alone. That
     * detaches this token.
     */
    let detachedFrom = Number.POSITIVE_INFINITY;
    /** True when a revocation without descendants also ends this token. */
    let endsAlone = true;
    for (let at: string | null = token; at !== null; ) {
      const creation = this.#creations.get(at);
      if (creation === undefined) break;
      // A revocation of this ancestor alone also counts: a later revocation with descendants then finds no descendants.
      if (!endsAlone) detachedFrom = Math.min(detachedFrom, this.#firstAlone(at));
      for (const ended of this.#endsAt(creation, endsAlone)) {
        // A token that was detached before the ancestor ended stays alive, so this end is not certain.
        ends.push({ ...ended, end: detachedFrom < ended.end ? Number.POSITIVE_INFINITY : ended.end });
      }
      endsAlone = creation.batch;
      at = creation.parent;
    }
    return ends;
  }

  #endsAt({ token, groups, begin, end, expiresAt }: Creation, endsAlone: boolean): EndOfToken[] {
    const revocations = (this.#revocations.get(token) ?? []).filter(({ alone }) => endsAlone || !alone);
    const watermarks = groups.flatMap((group) => this.#watermarks.get(group) ?? []);
    return [
      ...revocations.map((event) => ({
        begin: event.begin,
        end: latestEffect(event),
        by: `the revocation of ${token}`,
        mixedUntil: event.begin,
      })),
      // A token that was created at the same time may be issued after the watermark.
      ...watermarks.flatMap((event) => {
        if (begin >= latestEffect(event)) return [];
        const isBefore = (end ?? Number.POSITIVE_INFINITY) < event.begin;
        const by = `the watermark of ${event.group}`;
        const mixedUntil = latestEffect(event);
        return [{ begin: event.begin, end: isBefore ? mixedUntil : Number.POSITIVE_INFINITY, by, mixedUntil }];
      }),
      ...(expiresAt === null
        ? []
        : [{ begin: expiresAt, end: Number.POSITIVE_INFINITY, by: `the expiry of ${token}`, mixedUntil: expiresAt }]),
    ];
  }

  #firstAlone(token: string): number {
    const alone = (this.#revocations.get(token) ?? []).filter((event) => event.alone);
    return Math.min(Number.POSITIVE_INFINITY, ...alone.map(({ begin }) => begin));
  }
}
