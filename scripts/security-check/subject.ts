import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** An answer of the server. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** What a request has besides its path. */
export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's own address. */
  readonly from?: string;
}

const PROJECT = join(import.meta.dirname, "../..");
const START_MS = 90_000;
const ANSWER_MS = 8_000;

/** A server of `npm run serve` with data of its own, which the checks attack. */
export class Subject {
  readonly root = `root-${randomBytes(12).toString("hex")}`;
  readonly #sealKey = `1:${randomBytes(32).toString("base64")}`;
  readonly #data = mkdtempSync(join(tmpdir(), "grove-security-"));
  #child: ChildProcess | null = null;
  #output = "";
  #port = 0;

  static async start(): Promise<Subject> {
    const subject = new Subject();
    await subject.begin();
    return subject;
  }

  get port(): number {
    return this.#port;
  }

  /** Starts the server, on the data of before. */
  async begin(): Promise<void> {
    const flags = ["--listen=127.0.0.1:0", "--data", this.#data, "--allow-private-host=127.0.0.1"];
    const child = spawn(
      process.execPath,
      [join(PROJECT, "scripts/bundled.js"), join(PROJECT, "scripts/serve.ts"), ...flags],
      {
        cwd: PROJECT,
        env: {
          ...process.env,
          GROVE_SEAL_KEY: this.#sealKey,
          GROVE_DEV_ROOT_TOKEN: this.root,
          POLICY_CACHE_SECONDS: "1",
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#child = child;
    this.#output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => {
        this.#output += text;
      });
    }
    await this.until("the start of the server", () => /127\.0\.0\.1:(\d+)/.test(this.#output), START_MS);
    this.#port = Number(/127\.0\.0\.1:(\d+)/.exec(this.#output)?.[1]);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "close");
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#data, { recursive: true, force: true });
  }

  /** The lines of the log so far. */
  lines(): Record<string, unknown>[] {
    return this.#output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Waits until something is so; an error names it. */
  async until(what: string, isSo: () => boolean | Promise<boolean>, waitMs = ANSWER_MS): Promise<void> {
    const end = Date.now() + waitMs;
    while (!(await isSo())) {
      if (Date.now() > end) throw new Error(`${what} did not come`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  call(method: string, path: string, { token = this.root, body, headers, from }: CallOptions = {}): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port: this.#port,
          method,
          path: `/v1/${path}`,
          agent: false,
          timeout: ANSWER_MS,
          headers: {
            "Content-Length": Buffer.byteLength(text),
            ...(token !== "" && { "X-Vault-Token": token }),
            ...headers,
          },
          ...(from !== undefined && { localAddress: from }),
        },
        (response) => {
          let received = "";
          response.setEncoding("utf8");
          response.on("data", (piece: string) => {
            received += piece;
          });
          response.on("end", () => {
            const body = received.startsWith("{") ? JSON.parse(received) : {};
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
          });
        },
      );
      sent.on("timeout", () => sent.destroy(new Error(`${path} was not answered in ${ANSWER_MS} ms`)));
      sent.on("error", reject);
      sent.end(text);
    });
  }

  /** Stops the server, works on the table of each object of a class that has it, and starts the server again. */
  async betweenStarts(className: string, table: string, work: (database: DatabaseSync) => void): Promise<void> {
    await this.stop();
    try {
      for (const database of this.#databases(className)) {
        const found = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
        if (found !== undefined) work(database);
        database.close();
      }
    } finally {
      await this.begin();
    }
  }

  #databases(className: string): DatabaseSync[] {
    const objects = join(this.#data, "objects");
    const folders = readdirSync(objects).filter((name) => name.startsWith(`${className}-`));
    return folders.flatMap((folder) =>
      readdirSync(join(objects, folder))
        .filter((name) => name.endsWith(".sqlite") && !name.startsWith("metadata"))
        .map((name) => new DatabaseSync(join(objects, folder, name))),
    );
  }
}
