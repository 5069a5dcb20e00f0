/** How long an answer is used (ms): policies may change during a session. */
const FRESH_MS = 30_000;

/** Asks for the token's capabilities on paths; null when the server refuses. */
type AskServer = (paths: readonly string[]) => Promise<Readonly<Record<string, readonly string[]>> | null>;

/** The capabilities of a token by path. Questions of one moment are joined into one call. */
export class Capabilities {
  readonly #askServer: AskServer;
  readonly #known = new Map<string, { readonly has: readonly string[]; readonly at: number }>();
  #next: { readonly paths: Set<string>; readonly done: Promise<void> } | null = null;

  constructor(askServer: AskServer) {
    this.#askServer = askServer;
  }

  /** The capabilities on a path; undefined when unknown. */
  of(path: string): readonly string[] | undefined {
    return this.#known.get(path)?.has;
  }

  /** Asks about paths whose capabilities are unknown or too old. A refused question leaves them unknown. */
  async ask(paths: readonly string[]): Promise<void> {
    const oldest = Date.now() - FRESH_MS;
    const wanted = paths.filter((path) => (this.#known.get(path)?.at ?? 0) <= oldest);
    if (wanted.length === 0) return;
    this.#next ??= this.#begin();
    for (const path of wanted) this.#next.paths.add(path);
    await this.#next.done;
  }

  #begin(): { readonly paths: Set<string>; readonly done: Promise<void> } {
    const paths = new Set<string>();
    // The parts of a page ask in the same moment.
    const done = new Promise((resolve) => setTimeout(resolve)).then(async () => {
      this.#next = null;
      const answer = await this.#askServer([...paths]);
      if (!answer) return;
      const at = Date.now();
      for (const path of paths) this.#known.set(path, { has: answer[path] ?? [], at });
    });
    return { paths, done };
  }
}
