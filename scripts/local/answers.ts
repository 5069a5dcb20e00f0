import { setTimeout as pause } from "node:timers/promises";
import { Deadline } from "../../gateway/deadline.ts";
import { Upstream, type UpstreamAnswer } from "../../gateway/upstream.ts";
import type { UpstreamAddress } from "../../gateway/upstream-connection.ts";

const RETRY_MS = 100;
const ANSWER_MS = 5_000;

/** A server on a port of this machine. */
export function onPort(port: number): UpstreamAddress {
  return { kind: "origin", url: new URL(`http://127.0.0.1:${port}`) };
}

/** Resolves to true when a server gives any HTTP answer, to false when it ends or does not within the time. */
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
  const status = await get(address, path, async ({ head }) => head.status, limitMs);
  return status !== undefined && status >= 200 && status < 300;
}

/** The error of a server that answers every request with 503; undefined when it does not. */
export function refusalOfAll(address: UpstreamAddress): Promise<string | undefined> {
  return get(address, "/v1/auth/token/lookup-self", async (answer) => {
    return answer.head.status === 503 ? firstError(await textOf(answer)) : undefined;
  });
}

/**
 * Reads something from the answer to a GET; undefined when there is none in time. By the gateway's own client, which the process of a
 * server has anyway: `node:http` would take 14 MiB for as long as it runs.
 */
async function get<T>(
  address: UpstreamAddress,
  path: string,
  read: (answer: UpstreamAnswer) => Promise<T>,
  limitMs = ANSWER_MS,
): Promise<T | undefined> {
  const upstream = new Upstream(address, () => {});
  const head = `GET ${path} HTTP/1.1\r\nHost: ${upstream.host}\r\n`;
  const request = {
    head,
    body: Buffer.alloc(0),
    isHead: false,
    turns: { turnMs: limitMs, burstMs: limitMs },
    turn: new Deadline(),
    abandonMs: limitMs,
  };
  const answer = await upstream.send(request, null);
  const found = answer.ok ? await read(answer.value) : undefined;
  upstream.close();
  return found;
}

/** The body, as far as it comes. */
async function textOf({ body }: UpstreamAnswer): Promise<string> {
  const pieces: Buffer[] = [];
  for (let piece = await body.next(); piece.ok && piece.value !== undefined; piece = await body.next()) {
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
