import { setTimeout as pause } from "node:timers/promises";
import { MessageBody } from "../../gateway/body.ts";
import type { ResponseHead } from "../../gateway/heads.ts";
import { type UpstreamAddress, UpstreamConnection } from "../../gateway/upstream.ts";

const RETRY_MS = 100;
const ANSWER_MS = 5_000;

/** A server on a port of this machine. */
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

/** The error of a server that answers every request with 503; undefined for any other. */
export function refusalOfAll(address: UpstreamAddress): Promise<string | undefined> {
  return get(address, "/v1/auth/token/lookup-self", async ({ status }, body) => {
    return status === 503 ? firstError(await textOf(body)) : undefined;
  });
}

/**
 * Reads the answer to a GET; undefined without one in time. It uses the gateway's own client, because `node:http` would take 14 MiB for as
 * long as the server runs.
 */
async function get<T>(
  address: UpstreamAddress,
  path: string,
  read: (head: ResponseHead, body: MessageBody) => Promise<T>,
  limitMs = ANSWER_MS,
): Promise<T | undefined> {
  const connection = new UpstreamConnection(address, () => {});
  const request = {
    head: `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`,
    body: Buffer.alloc(0),
    isHead: false,
    abandonMs: limitMs,
  };
  const head = await connection.exchange(request);
  const found = head.ok ? await read(head.value, new MessageBody(connection.reader, head.value.body)) : undefined;
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
