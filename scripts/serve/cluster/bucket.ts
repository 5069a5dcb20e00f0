import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { AwsV4Signer } from "aws4fetch";
import { err, ok, type Result } from "../../../src/base/result.ts";
import { failureText } from "../../grove/connection-error.ts";
import { isSendable } from "../../local/token-from-environment.ts";
import type { ClusterSettings } from "./node-settings.ts";

/** Time limit of a request (ms). */
const REQUEST_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** An object and its ETag. */
export interface Found {
  readonly text: string;
  readonly etag: string;
}

/** The condition of a write: no object exists (`*`), the object has this ETag, or "none": any object is replaced. */
export type Condition = { readonly ifNoneMatch: "*" } | { readonly ifMatch: string } | "none";

export interface BucketProblem {
  /** For the operator, without secrets. */
  readonly message: string;
  /** True when the same request can succeed later: the bucket is out of reach or overloaded. */
  readonly passes: boolean;
  /** True when no request was sent: the fault is in the settings of this node. */
  readonly isLocal?: true;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly etag: string;
}

/** The bucket of a cluster. Keys are relative to the cluster's own directory for Grove, beside that of workerd. */
export class ClusterBucket {
  readonly #settings: ClusterSettings;
  readonly #environment: NodeJS.ProcessEnv;
  /** Clock of the bucket minus that of this machine (ms), by the last answer; undefined without a Date in it. */
  clockOffsetMs: number | undefined;

  constructor(settings: ClusterSettings, environment: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#environment = environment;
  }

  /** The address of an object or directory, for operators. */
  nameOf(key: string): string {
    return `s3://${this.#settings.bucket}${this.#path(key)}`;
  }

  /** Reads an object; null when there is none. */
  async get(key: string): Promise<Result<Found | null, BucketProblem>> {
    const answer = await this.#send("GET", this.#path(key));
    if (!answer.ok) return answer;
    const { status, text, etag } = answer.value;
    if (status === 404 && !text.includes("NoSuchBucket")) return ok(null);
    return status === 200 ? ok({ text, etag }) : err(problemOf(answer.value));
  }

  /** Writes an object under a condition. @returns its ETag; null when the condition does not hold. */
  async put(key: string, text: string, condition: Condition): Promise<Result<string | null, BucketProblem>> {
    const answer = await this.#send("PUT", this.#path(key), headersOf(condition), text);
    if (!answer.ok) return answer;
    const { status, etag } = answer.value;
    // 409: another write of the same key was under way. 404: If-Match on an object that is gone.
    const isGone = status === 404 && condition !== "none" && "ifMatch" in condition;
    if (condition !== "none" && (status === 412 || status === 409 || isGone)) return ok(null);
    return status === 200 ? ok(etag) : err(problemOf(answer.value));
  }

  /** Deletes an object. It is no error when there is none. */
  async delete(key: string): Promise<Result<void, BucketProblem>> {
    const answer = await this.#send("DELETE", this.#path(key));
    if (!answer.ok) return answer;
    return [200, 204, 404].includes(answer.value.status) ? ok(undefined) : err(problemOf(answer.value));
  }

  /** True when the first page of a listing with the prefix `key` contains it. */
  async lists(key: string): Promise<Result<boolean, BucketProblem>> {
    const path = this.#path(key).slice(1);
    const page = await this.#list(path);
    return page.ok ? ok(page.value.includes(`<Key>${path}</Key>`)) : page;
  }

  /** True when workerd has stored objects in its directory. */
  async hasEngineData(): Promise<Result<boolean, BucketProblem>> {
    const page = await this.#list(`${this.#settings.prefix}/workerd/`);
    return page.ok ? ok(page.value.includes("<Key>")) : page;
  }

  async #list(prefix: string): Promise<Result<string, BucketProblem>> {
    const answer = await this.#send("GET", `?list-type=2&max-keys=1&prefix=${encodeURIComponent(prefix)}`);
    if (!answer.ok) return answer;
    return answer.value.status === 200 ? ok(answer.value.text) : err(problemOf(answer.value));
  }

  #path(key: string): string {
    return `/${this.#settings.prefix}/grove/${key}`;
  }

  async #send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Result<Answer, BucketProblem>> {
    const { endpoint, region, bucket } = this.#settings;
    const credentials = readCredentials(this.#environment);
    if (!credentials.ok) return err({ message: credentials.error, passes: false, isLocal: true });
    const signer = new AwsV4Signer({
      ...credentials.value,
      method,
      url: `${endpoint.origin}/${bucket}${path}`,
      headers: { ...headers },
      ...(body !== undefined && { body }),
      service: "s3",
      region,
    });
    try {
      const signed = await signer.sign();
      const response = await fetch(signed.url, {
        method,
        headers: signed.headers,
        ...(body !== undefined && { body }),
        redirect: "manual",
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      const text = await boundedText(response);
      if (text === null) return err({ message: "the bucket's answer is too long", passes: false });
      const offset = Date.parse(response.headers.get("date") ?? "") - Date.now();
      this.clockOffsetMs = Number.isNaN(offset) ? undefined : offset;
      return ok({ status: response.status, text, etag: response.headers.get("etag") ?? "" });
    } catch (error) {
      return err({ message: `the bucket is out of reach: ${failureText(error)}`, passes: true });
    }
  }
}

function headersOf(condition: Condition): Record<string, string> {
  if (condition === "none") return {};
  return "ifMatch" in condition ? { "If-Match": condition.ifMatch } : { "If-None-Match": condition.ifNoneMatch };
}

/** The body; null when it is longer than MAX_ANSWER_BYTES. */
async function boundedText(response: Response): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    if (bytes > MAX_ANSWER_BYTES) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** The credentials, read anew for each request: a file may be replaced at any time. */
function readCredentials(environment: NodeJS.ProcessEnv) {
  const file = environment.AWS_CREDENTIALS_FILE;
  let named: NodeJS.Dict<string> = environment;
  if (file) {
    try {
      named = parseEnv(readFileSync(file, "utf8"));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
      return err(`AWS_CREDENTIALS_FILE cannot be read: ${file}${code}`);
    }
  }
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = named;
  if (!id || !secret) {
    return err(`AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not in ${file ? file : "the environment"}`);
  }
  for (const [name, value = ""] of Object.entries({ AWS_ACCESS_KEY_ID: id, AWS_SESSION_TOKEN: session })) {
    if (!isSendable(value)) return err(`${name} has characters that no credential has (a line break?)`);
  }
  return ok({ accessKeyId: id, secretAccessKey: secret, ...(session && { sessionToken: session }) });
}

function problemOf({ status, text }: Answer): BucketProblem {
  const [, code] = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text) ?? [];
  const message = `the bucket answered ${status}${code === undefined ? "" : ` (${code})`}`;
  return { message, passes: status === 429 || status >= 500 };
}
