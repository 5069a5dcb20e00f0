import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { databasesOf, openDatabase } from "../seed/objects.ts";
import { type Client, type Json, type Reply, type SendOptions, send } from "../servers/client.ts";
import { newSecrets, type Secrets, ServeProcess, temporaryDirectory, type Usage } from "../servers/serve.ts";

/** Options of a request. */
export interface CallOptions extends SendOptions {
  /** Absent: the root token. "": no token. */
  readonly token?: string;
  readonly body?: unknown;
}

/** The address of the reverse proxy that the server trusts. */
export const TRUSTED_PROXY = "127.0.0.7";

/** Default time limit of requests and waits (ms). */
const ANSWER_MS = 8_000;

/** The server under attack, with its own data directory. */
export class Subject {
  readonly #secrets: Secrets;
  readonly #data = temporaryDirectory("security");
  #server: ServeProcess | null = null;
  #lines: Json[] = [];

  private constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  static async start(secrets = newSecrets()): Promise<Subject> {
    const subject = new Subject(secrets);
    await subject.#begin();
    return subject;
  }

  /** The server's address and root token. */
  get client(): Client {
    if (!this.#server) throw new Error("the server is stopped");
    return this.#server;
  }

  get root(): string {
    return this.client.token;
  }

  get port(): number {
    return Number(new URL(this.client.url).port);
  }

  /** The usage of the process with the objects since its start. */
  get usage(): Usage {
    if (!this.#server) throw new Error("the server is stopped");
    return this.#server.usage().worker;
  }

  /** Log lines since the last start. */
  lines(): readonly Json[] {
    return this.#lines;
  }

  /**
   * Waits until `isSo` returns true.
   *
   * @param what names the event in the error.
   * @param waitMs time limit (ms).
   */
  async until(what: string, isSo: () => boolean | Promise<boolean>, waitMs = ANSWER_MS): Promise<void> {
    const end = performance.now() + waitMs;
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`${what} did not occur in ${waitMs} ms`);
      await pause(20);
    }
  }

  /** Sends a request to a path below `v1/`. */
  call(method: string, path: string, { token, body, ...options }: CallOptions = {}): Promise<Reply> {
    const client = { url: this.client.url, token: token ?? this.root };
    return send(client, method, `v1/${path}`, body, { timeoutMs: ANSWER_MS, ...options });
  }

  /** Like {@link call}, but throws unless the answer has this status. */
  async answers(status: number, method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const reply = await this.call(method, path, options);
    if (reply.status === status) return reply;
    const { headers, body } = options;
    const sent = JSON.stringify({ headers, body }).slice(0, 200);
    throw new Error(`${method} ${path} with ${sent} was answered with ${reply.status}`);
  }

  /** Stops the server, runs `work`, which opens databases of named objects, and starts the server again. */
  async whileStopped(work: (open: (className: string, name: string) => DatabaseSync) => void): Promise<void> {
    await this.#server?.stop();
    const opened: DatabaseSync[] = [];
    try {
      work((className, name) => {
        const database = openDatabase(this.#data, className, name);
        opened.push(database);
        return database;
      });
    } finally {
      for (const database of opened) database.close();
      await this.#begin();
    }
  }

  /** Stops the server, runs `work` on each database of a class that has the table, and starts the server again. */
  betweenStarts(className: string, table: string, work: (database: DatabaseSync) => void): Promise<void> {
    return this.whileStopped(() => {
      for (const file of databasesOf(this.#data, className)) {
        const database = new DatabaseSync(file);
        const found = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
        if (found !== undefined) work(database);
        database.close();
      }
    });
  }

  /** Like {@link betweenStarts}, with an SQL statement. Returns the number of changed rows. */
  async rewrite(className: string, table: string, sql: string, ...values: SQLInputValue[]): Promise<number> {
    let changed = 0;
    await this.betweenStarts(className, table, (database) => {
      changed += Number(database.prepare(sql).run(...values).changes);
    });
    return changed;
  }

  /** Stops the server. Its data are deleted when this process exits. */
  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async #begin(): Promise<void> {
    const lines: Json[] = [];
    this.#lines = lines;
    this.#server = await ServeProcess.start(this.#data, this.#secrets, {
      flags: ["--allow-private-host=127.0.0.1", "--trust-proxy", TRUSTED_PROXY],
      settings: { POLICY_CACHE_SECONDS: "1" },
      onLine: (line) => {
        if (line.startsWith("{")) lines.push(JSON.parse(line));
      },
    });
  }
}
