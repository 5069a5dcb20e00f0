import { setTimeout as pause } from "node:timers/promises";
import { MessageBody } from "../../gateway/message-body.ts";
import type { ResponseHead } from "../../gateway/message-head.ts";
import { type UpstreamAddress, UpstreamConnection } from "../../gateway/upstream.ts";
import { NoAnswer } from "../grove/connection-error.ts";

const RETRY_MS = 100;
const ANSWER_MS = 5_000;

/** The address of a server on a port of this machine. */
export function onPort(port: number): UpstreamAddress {
  return { kind: "origin", url: new URL(`http://127.0.0.1:${port}`) };
}

/** Resolves to true at the first HTTP answer, to false when the server ends or after `limitMs`. */
export async function waitUntilAnswers(
  address: UpstreamAddress,
  ended: Promise<unknown>,
  limitMs: number,
): Promise<boolean> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  const limit = performance.now() + limitMs;
  while (!over && performance.now() < limit) {
    if (await get(address, "/v1/sys/health", async () => true)) return true;
    await pause(RETRY_MS);
  }
  return false;
}

/** True when a server answers a GET with 2xx within `limitMs`. */
export async function succeeds(address: UpstreamAddress, path: string, limitMs: number): Promise<boolean> {
  const status = await get(address, path, async ({ status }) => status, limitMs);
  return status !== undefined && status >= 200 && status < 300;
}

/**
 * The error of a server that answers every request with 503; undefined for any other. Only a server that is not well is
 * asked without a token: another would store the refusal, which `grove why -` would explain.
 */
export async function refusalOfAll(address: UpstreamAddress): Promise<string | undefined> {
  if (await succeeds(address, "/v1/sys/health", ANSWER_MS)) return undefined;
  return get(address, "/v1/auth/token/lookup-self", async ({ status }, body) => {
    return status === 503 ? firstError(await textOf(body)) : undefined;
  });
}

/**
 * Sends a request with JSON over a socket, and returns its whole answer.
 *
 * @throws NoAnswer when none came within `limitMs`.
 */
export async function exchange(
  address: UpstreamAddress,
  { method, path, headers, body }: { method: string; path: string; headers: readonly string[]; body: unknown },
  limitMs: number,
): Promise<{ readonly status: number; readonly retryAfter: string | null; readonly text: string }> {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  const lines = [...headers, ...(bytes.length > 0 ? ["Content-Type: application/json"] : [])];
  const head = [`${method} ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${bytes.length}`, ...lines];
  const answered = await ask(address, `${head.join("\r\n")}\r\n`, bytes, limitMs, async (answer, content) => {
    const retryAfter = answer.headers.find(({ lower }) => lower === "retry-after")?.value ?? null;
    return { status: answer.status, retryAfter, text: await textOf(content) };
  });
  if (answered === undefined) throw new NoAnswer("the Worker gave none");
  return answered;
}

/** Reads the answer to a GET; undefined without one in time. */
function get<T>(
  address: UpstreamAddress,
  path: string,
  read: (head: ResponseHead, body: MessageBody) => Promise<T>,
  limitMs = ANSWER_MS,
): Promise<T | undefined> {
  return ask(address, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`, Buffer.alloc(0), limitMs, read);
}

/**
 * Reads the answer to a request; undefined without one in time. It uses the gateway's own client, because `node:http` would take 14 MiB for
 * as long as the server runs.
 */
async function ask<T>(
  address: UpstreamAddress,
  head: string,
  body: Buffer,
  abandonMs: number,
  read: (head: ResponseHead, body: MessageBody) => Promise<T>,
): Promise<T | undefined> {
  const connection = new UpstreamConnection(address, () => {});
  const answered = await connection.exchange({ head, body, isHead: false, abandonMs });
  const { value } = answered.ok ? answered : { value: undefined };
  const found = value && (await read(value, new MessageBody(connection.reader, value.body)));
  connection.destroy();
  return found;
}

/** The body, up to its end or a lost connection. */
async function textOf(body: MessageBody): Promise<string> {
  const pieces: Buffer[] = [];
  while (!body.isRead) {
    const piece = await body.next();
    if (!piece.ok) break;
    pieces.push(piece.value);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function firstError(text: string): string | undefined {
  try {
    const { errors }: { readonly errors?: readonly string[] } = JSON.parse(text);
    return errors?.[0];
  } catch {
    return undefined;
  }
}
