import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { GroveClient } from "../../../../scripts/grove/client.ts";

/** Answers with each of `answers` in turn. Returns what a command sees: the answer, its waits (ms) and the lines said. */
async function called(...answers: readonly (Reply & { readonly fault?: string })[]) {
  const waits: number[] = [];
  const lines: string[] = [];
  let sent = 0;
  const client = new GroveClient("http://127.0.0.1:8200", "s.token", {
    wait: async (ms) => void waits.push(ms),
    say: (line) => void lines.push(line),
    send: async () => answers[Math.min(sent++, answers.length - 1)] ?? { status: 500, retryAfter: null, text: "" },
  });
  const answer = await client.call("GET", "sys/tokens");
  return { answer, waits, lines, sent };
}

const refusal = (status: number, retryAfter: string, message: string) => ({
  status,
  retryAfter,
  text: JSON.stringify({ errors: [message] }),
});
interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

const DONE: Reply = { status: 200, retryAfter: null, text: "{}" };

describe("a call that is to be repeated", () => {
  it("says why it waits, when that is long", async () => {
    const { answer, waits, lines } = await called(
      refusal(503, "1", "busy"),
      refusal(429, "20", "rate limit quota exceeded"),
      refusal(429, "90", "rate limit quota exceeded"),
      DONE,
    );
    expect([answer.ok, waits]).toEqual([true, [1000, 20_000, 30_000]]);
    expect(lines).toEqual(["waiting 20 s: rate limit quota exceeded", "waiting 30 s: rate limit quota exceeded"]);
  });

  it("is not sent again when nothing changes soon, as with a damaged database", async () => {
    const { answer, waits, sent } = await called(refusal(503, "60", "a database of the service is damaged"), DONE);
    expect(answer).toMatchObject({
      ok: false,
      error: { status: 503, message: "a database of the service is damaged" },
    });
    expect([waits, sent]).toEqual([[], 1]);
  });

  it("is not sent again while the disk is full, although the server would be asked again soon", async () => {
    const full = { ...refusal(503, "5", "the disk of the service is full"), fault: "disk_full" };
    const { answer, waits, sent } = await called(full, DONE);
    expect([answer.ok, waits, sent]).toEqual([false, [], 1]);
  });
});

it("ends when no answer comes in time", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const client = new GroveClient(address, "", { timeout: 50 });
  expect(await client.call("GET", "sys/health")).toMatchObject({
    error: { message: `no answer from ${address}: none came in time` },
  });
  silent.closeAllConnections();
  silent.close();
});

describe("a call without an answer", () => {
  /** Calls a server once for each of `answers`; null: nothing listens. Returns how often requests were sent. */
  async function tries(cause: Error, ...answers: readonly (Reply | null)[]): Promise<number[]> {
    let sent = 0;
    let next: Reply | null = null;
    const client = new GroveClient("http://127.0.0.1:8200", "s.token", {
      repeats: true,
      wait: async () => {},
      say: () => {},
      send: async () => {
        sent++;
        if (next === null) throw new TypeError("fetch failed", { cause });
        return next;
      },
    });
    const counts: number[] = [];
    for (const answer of answers) {
      next = answer;
      sent = 0;
      await client.call("GET", "sys/tokens");
      counts.push(sent);
    }
    return counts;
  }
  const failureOf = (code: string) => Object.assign(new Error(code), { code });
  const BUSY = refusal(502, "", "bad gateway");

  it("is given up soon where nothing listens, and later where a server was or a proxy is", async () => {
    for (const cause of [failureOf("ECONNREFUSED"), failureOf("ENOTFOUND"), new Error("bad port")]) {
      expect(await tries(cause, null, BUSY)).toEqual([2, 5]);
    }
    expect(await tries(failureOf("ECONNREFUSED"), DONE, null)).toEqual([1, 5]);
    expect(await tries(failureOf("ECONNRESET"), null)).toEqual([5]);
  });
});
