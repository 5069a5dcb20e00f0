import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { listenAt } from "../../gateway/server.ts";

/** A request to the bucket. `key` is empty for a list. */
export interface BucketRequest {
  readonly method: string;
  readonly key: string;
  /** Id of the access key that signed the request. */
  readonly client: string;
}

/** What happens to a request instead of its answer: an answer with this status, a cut connection, or a delay before the answer (ms). */
export type BucketFault = { readonly status: number } | "cut" | { readonly delayMs: number };

/** Promises of a store that this one breaks. */
export interface BucketQuirks {
  readonly ignoresIfNoneMatch?: boolean;
  readonly ignoresIfMatch?: boolean;
  /** Reads answer what was there before the last write. */
  readonly staleReads?: boolean;
  /** Lists lack the newest object. */
  readonly staleLists?: boolean;
  readonly clockOffsetMs?: number;
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

interface Stored {
  readonly content: Buffer;
  readonly etag: string;
  readonly modifiedAt: number;
}

/** The only bucket of the emulator. */
export const BUCKET = "grove";

const MAX_LISTED = 1000;

/**
 * A bucket of S3 in memory, with the conditional writes that a cluster needs. It asks for a signature and does not check it. A request
 * that it does not know is answered 501.
 */
export class BucketEmulator {
  /** As in AWS_ENDPOINT_URL. */
  readonly url: string;
  readonly objects = new Map<string, Stored>();
  /** All requests since the start, the oldest first. */
  readonly requests: BucketRequest[] = [];
  /** Decides about each request. A test replaces it. */
  fault: (request: BucketRequest) => BucketFault | undefined = () => undefined;
  quirks: BucketQuirks = {};
  readonly close: () => Promise<void>;
  #newest: string | undefined;
  #before: Stored | undefined;

  private constructor(port: number, close: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}`;
    this.close = close;
  }

  /** Starts the emulator on a free port. */
  static async start(): Promise<BucketEmulator> {
    const server = createServer((request, response) => {
      void emulator.#answer(request, response).catch(() => response.destroy());
    });
    const bound = await listenAt(server, { host: "127.0.0.1", port: 0 });
    if (!bound.ok) throw new Error(`the bucket can't listen: ${bound.error}`);
    const emulator = new BucketEmulator(bound.value, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return emulator;
  }

  /** The settings of a program that uses the bucket. */
  get environment(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL: this.url,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test-secret",
      AWS_ALLOW_HTTP: "true",
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const url = new URL(request.url ?? "", this.url);
    const [, bucket = "", ...rest] = url.pathname.split("/");
    const key = decodeURIComponent(rest.join("/"));
    const method = request.method ?? "";
    const [, client = ""] = /Credential=([^/]+)/.exec(request.headers.authorization ?? "") ?? [];
    this.requests.push({ method, key, client });
    const fault = this.fault({ method, key, client });
    if (fault === "cut") {
      response.destroy();
      return;
    }
    if (fault && "delayMs" in fault) await pause(fault.delayMs);
    const reply =
      fault && "status" in fault
        ? problem(fault.status, "SlowDown")
        : request.headers.authorization === undefined
          ? problem(403, "AccessDenied")
          : bucket !== BUCKET
            ? problem(404, "NoSuchBucket")
            : this.#reply(method, key, request.headers, url.searchParams, Buffer.concat(pieces));
    const { status, headers, body = "" } = reply;
    response.writeHead(status, {
      Date: new Date(this.#now()).toUTCString(),
      ...headers,
      ...(status !== 204 && status !== 304 && { "Content-Length": Buffer.byteLength(body) }),
    });
    response.end(body);
  }

  #now(): number {
    return Date.now() + (this.quirks.clockOffsetMs ?? 0);
  }

  #reply(method: string, key: string, headers: IncomingHttpHeaders, query: URLSearchParams, content: Buffer): Reply {
    if (key === "" && method === "GET" && query.get("list-type") === "2") {
      return { status: 200, headers: XML, body: this.#list(query) };
    }
    const isPlain = [...query.keys()].every((name) => name === "x-id");
    if (key === "" || !isPlain) return problem(501, "NotImplemented");
    if (method === "GET" || method === "HEAD") return this.#read(headers, key);
    if (method === "PUT") return this.#write(headers, key, content);
    if (method !== "DELETE") return problem(501, "NotImplemented");
    this.objects.delete(key);
    return { status: 204 };
  }

  #read(headers: IncomingHttpHeaders, key: string): Reply {
    const isStale = this.quirks.staleReads === true && key === this.#newest;
    const found = isStale ? this.#before : this.objects.get(key);
    if (!found) return problem(404, "NoSuchKey");
    const { etag, content } = found;
    const about = { ETag: etag, "Last-Modified": new Date(found.modifiedAt).toUTCString() };
    if (headers["if-match"] !== undefined && headers["if-match"] !== etag) return problem(412, "PreconditionFailed");
    if (headers["if-none-match"] === etag) return { status: 304, headers: about };
    const [, first, last, suffix] = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/.exec(headers.range ?? "") ?? [];
    if (first === undefined && suffix === undefined) return { status: 200, headers: about, body: content };
    const { length } = content;
    const from = suffix === undefined ? Number(first) : Math.max(0, length - Number(suffix));
    const to = last ? Math.min(Number(last), length - 1) : length - 1;
    if (from >= length) return problem(416, "InvalidRange");
    const range = `bytes ${from}-${to}/${length}`;
    return { status: 206, headers: { ...about, "Content-Range": range }, body: content.subarray(from, to + 1) };
  }

  #write(headers: IncomingHttpHeaders, key: string, content: Buffer): Reply {
    const found = this.objects.get(key);
    if (headers["if-none-match"] === "*" && found && !this.quirks.ignoresIfNoneMatch) {
      return problem(412, "PreconditionFailed");
    }
    const expected = headers["if-match"];
    if (expected !== undefined && !this.quirks.ignoresIfMatch) {
      if (!found) return problem(404, "NoSuchKey");
      if (expected !== found.etag) return problem(412, "PreconditionFailed");
    }
    this.#newest = key;
    this.#before = found;
    const etag = `"${createHash("md5").update(content).digest("hex")}"`;
    this.objects.set(key, { content, etag, modifiedAt: this.#now() });
    return { status: 200, headers: { ETag: etag } };
  }

  #list(query: URLSearchParams): string {
    const prefix = query.get("prefix") ?? "";
    const delimiter = query.get("delimiter") ?? "";
    const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
    const most = Math.min(Number(query.get("max-keys") ?? MAX_LISTED), MAX_LISTED);
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const seen = this.quirks.staleLists ? keys.filter((key) => key !== this.#newest) : keys;
    const found: string[] = [];
    const folders = new Set<string>();
    let last: string | undefined;
    let truncated = false;
    for (const key of seen) {
      const cut = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
      const name = cut < 0 ? key : key.slice(0, cut + delimiter.length);
      if (name <= after || folders.has(name)) continue;
      if (found.length + folders.size === most) {
        truncated = true;
        break;
      }
      if (cut < 0) found.push(key);
      else folders.add(name);
      last = name;
    }
    const contents = found.flatMap((key) => {
      const stored = this.objects.get(key);
      if (!stored) return [];
      const modified = new Date(stored.modifiedAt).toISOString();
      return `<Contents><Key>${escaped(key)}</Key><LastModified>${modified}</LastModified><ETag>${escaped(stored.etag)}</ETag><Size>${stored.content.length}</Size></Contents>`;
    });
    const common = [...folders].map((name) => `<CommonPrefixes><Prefix>${escaped(name)}</Prefix></CommonPrefixes>`);
    const next = truncated ? `<NextContinuationToken>${escaped(last ?? "")}</NextContinuationToken>` : "";
    return `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>${BUCKET}</Name><Prefix>${escaped(prefix)}</Prefix><KeyCount>${found.length + folders.size}</KeyCount><MaxKeys>${most}</MaxKeys><IsTruncated>${truncated}</IsTruncated>${next}${contents.join("")}${common.join("")}</ListBucketResult>`;
  }
}

const XML = { "Content-Type": "application/xml" };

function problem(status: number, code: string): Reply {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`;
  return { status, headers: XML, body };
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
