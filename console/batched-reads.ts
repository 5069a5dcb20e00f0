/** Asks the server about some keys; null when it refuses. */
export type AskServer<T> = (keys: readonly string[]) => Promise<Readonly<Record<string, T>> | null>;

/** A cache of answers by key. Keys that are asked for at the same time share one request. */
export class BatchedReads<T> {
  readonly #askServer: AskServer<T>;
  readonly #missing: T;
  /** How long an answer is cached (ms). */
  readonly #freshMs: number;
  readonly #known = new Map<string, { readonly is: T; readonly at: number }>();
  #next: { readonly keys: Set<string>; readonly done: Promise<void> } | null = null;

  /** @param missing the value of a key that an answer leaves out */
  constructor(askServer: AskServer<T>, missing: T, freshMs: number) {
    this.#askServer = askServer;
    this.#missing = missing;
    this.#freshMs = freshMs;
  }

  /** The cached value of a key; undefined without one. */
  of(key: string): T | undefined {
    return this.#known.get(key)?.is;
  }

  /** Reads the keys that are not cached, or whose answer is too old. After a refusal their values stay as they were. */
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
    // The components of a page ask in the same task.
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
