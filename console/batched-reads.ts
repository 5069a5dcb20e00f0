/** Asks the server about some keys; null when it refuses. */
export type AskServer<T> = (keys: readonly string[]) => Promise<Readonly<Record<string, T>> | null>;

/** What the server says of keys. The questions of one moment are joined into one call, and an answer counts for a while. */
export class BatchedReads<T> {
  readonly #askServer: AskServer<T>;
  readonly #missing: T;
  /** How long an answer is used (ms). */
  readonly #freshMs: number;
  readonly #known = new Map<string, { readonly is: T; readonly at: number }>();
  #next: { readonly keys: Set<string>; readonly done: Promise<void> } | null = null;

  /** @param missing what is known of a key that the answer leaves out */
  constructor(askServer: AskServer<T>, missing: T, freshMs: number) {
    this.#askServer = askServer;
    this.#missing = missing;
    this.#freshMs = freshMs;
  }

  /** What is known of a key; undefined when nothing is. */
  of(key: string): T | undefined {
    return this.#known.get(key)?.is;
  }

  /** Asks about keys that are unknown or known for too long. A refused question leaves them unknown. */
  async ask(keys: readonly string[]): Promise<void> {
    const oldest = Date.now() - this.#freshMs;
    const wanted = keys.filter((key) => (this.#known.get(key)?.at ?? 0) <= oldest);
    if (wanted.length === 0) return;
    this.#next ??= this.#begin();
    for (const key of wanted) this.#next.keys.add(key);
    await this.#next.done;
  }

  #begin(): { readonly keys: Set<string>; readonly done: Promise<void> } {
    const keys = new Set<string>();
    // The parts of a page ask in the same moment.
    const done = new Promise((resolve) => setTimeout(resolve)).then(async () => {
      this.#next = null;
      const answer = await this.#askServer([...keys]);
      if (!answer) return;
      const at = Date.now();
      for (const key of keys) this.#known.set(key, { is: answer[key] ?? this.#missing, at });
    });
    return { keys, done };
  }
}
