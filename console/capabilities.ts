/** How long (ms) an answer counts: policies may change while a session lasts. */
const FRESH_MS = 30_000;

/** Asks what the token may do on paths; null when the server does not say. */
type AskServer = (paths: readonly string[]) => Promise<Readonly<Record<string, readonly string[]>> | null>;

/** What the policies of a token allow, by path. Paths that are asked for together are asked for in one call. */
export class Capabilities {
  readonly #askServer: AskServer;
  readonly #known = new Map<string, { readonly has: readonly string[]; readonly at: number }>();
  #next: { readonly paths: Set<string>; readonly done: Promise<void> } | null = null;

  constructor(askServer: AskServer) {
    this.#askServer = askServer;
  }

  /** The capabilities on a path; undefined where they are not known. */
  of(path: string): readonly string[] | undefined {
    return this.#known.get(path)?.has;
  }

  /** Asks about the paths that are not known, or were asked for too long ago. What the server does not say stays unknown. */
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
    // All parts of a page ask after the same picture.
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
