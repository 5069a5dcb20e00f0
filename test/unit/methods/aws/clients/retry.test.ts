import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NO_PRIVATE_HOSTS, privateHosts } from "../../../../../src/base/outbound-hosts.ts";
import type { OutboundRequest, SentAnswer } from "../../../../../src/base/outbound-http.ts";
import { err, ok } from "../../../../../src/base/result.ts";
import { CALL_MS, callService, pauseBeforeNext } from "../../../../../src/methods/aws/clients/client.ts";

const request: OutboundRequest = { method: "POST", url: "https://sts.example/", headers: {}, body: "x" };
const answer = (status: number, fields: Partial<SentAnswer> = {}) =>
  ok({ status, contentType: "text/xml", body: "", retryAfterSeconds: null, ...fields });
const THROTTLED = "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("the pause before another try", () => {
  const pause = (sent: Parameters<typeof pauseBeforeNext>[0], attempt = 0, random = 1) =>
    pauseBeforeNext(sent, attempt, {}, random);

  it("doubles up to two seconds, and half of it is random", () => {
    const failed = answer(500);
    expect([0, 1, 2, 3, 4, 5, 50].map((attempt) => pause(failed, attempt))).toEqual([
      100, 200, 400, 800, 1600, 2000, 2000,
    ]);
    expect(pause(failed, 0, 0)).toBe(50);
  });

  it("is at least what the service asks for", () => {
    expect(pause(answer(503, { retryAfterSeconds: 7 }))).toBe(7000);
  });

  it("does not come where another try gets the same", () => {
    for (const sent of [answer(200), answer(400), answer(403), answer(302), answer(501), err("unreadable" as const)]) {
      expect(pause(sent)).toBeNull();
    }
  });

  it("comes after throttling, whatever its status, and when nobody answers", () => {
    for (const sent of [
      answer(429),
      answer(500),
      answer(503),
      answer(400, { body: THROTTLED }),
      err("timeout" as const),
      err("unreachable" as const),
    ]) {
      expect(pause(sent)).toBe(100);
    }
  });
});

describe("a call", () => {
  const reply = (status: number, headers: Record<string, string> = {}) => new Response("", { status, headers });
  const run = async (maxRetries: number, fetched: () => Promise<Response>) => {
    const spy = vi.spyOn(globalThis, "fetch").mockReset().mockImplementation(fetched);
    const started = Date.now();
    const made = callService("STS", { hosts: NO_PRIVATE_HOSTS, maxRetries }, async () => request);
    await vi.runAllTimersAsync();
    return { result: await made, tries: spy.mock.calls.length, took: Date.now() - started };
  };

  it("is made once and three times more by default", async () => {
    expect(await run(-1, async () => reply(500))).toMatchObject({ tries: 4, result: { ok: true } });
  });

  it("is made as often as the configuration says", async () => {
    expect((await run(0, async () => reply(503))).tries).toBe(1);
    expect((await run(2, async () => reply(503))).tries).toBe(3);
  });

  it("ends after a while, whatever max_retries says", async () => {
    const { tries, took } = await run(100, async () => reply(503));
    expect(took).toBeLessThanOrEqual(CALL_MS);
    expect(tries).toBeLessThan(20);
  });

  it("does not wait for a service that asks for more time than there is", async () => {
    const { tries, took } = await run(3, async () => reply(503, { "Retry-After": "60" }));
    expect([tries, took]).toEqual([1, 0]);
  });

  it("waits for no answer for ever", async () => {
    const { result, took } = await run(100, () => new Promise(() => {}));
    expect(result).toMatchObject({ error: { code: "unavailable", message: "STS does not answer in time" } });
    expect(took).toBeLessThanOrEqual(CALL_MS);
  });

  it("waits for no body for ever", async () => {
    const body = () => new ReadableStream({ pull: () => new Promise(() => {}) });
    const { result } = await run(0, async () => new Response(body()));
    expect(result).toMatchObject({ error: { code: "unavailable", message: "STS does not answer in time" } });
  });

  it("stops reading an answer that is too long", async () => {
    let chunks = 0;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        chunks++;
        controller.enqueue(new Uint8Array(65_536).fill(0x61));
      },
      cancel() {
        cancelled = true;
      },
    });
    const { result, tries } = await run(3, async () => new Response(body));
    expect(result).toMatchObject({ error: { message: "answer of STS is too long or no text" } });
    expect(tries).toBe(1);
    expect(cancelled).toBe(true);
    expect(chunks).toBeLessThan(10);
  });

  it("does not read what is no text", async () => {
    const { result } = await run(0, async () => new Response(Uint8Array.of(0xff, 0xfe)));
    expect(result).toMatchObject({ error: { message: "answer of STS is too long or no text" } });
  });

  it("knows an answer that fails by its status, also when it can't be read", async () => {
    const { result, tries } = await run(1, async () => new Response(Uint8Array.of(0xff, 0xfe), { status: 503 }));
    expect(result).toMatchObject({ value: { status: 503 } });
    expect(tries).toBe(2);
  });

  it("does not follow a redirect", async () => {
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async () => reply(302));
    await callService("STS", { hosts: NO_PRIVATE_HOSTS, maxRetries: 0 }, async () => request);
    expect(spy.mock.calls[0]?.[0]).toMatchObject({ redirect: "manual" });
  });

  it("goes to no host that has been taken off the list since it was configured", async () => {
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async () => reply(200));
    const ask = (list: string) =>
      callService("STS", { hosts: privateHosts({ GROVE_PRIVATE_HOSTS: list }), maxRetries: 3 }, async () => ({
        ...request,
        url: "http://10.0.0.5/sts",
      }));
    expect((await ask("10.0.0.5")).ok).toBe(true);
    spy.mockClear();
    expect(await ask("10.0.0.6")).toMatchObject({ error: { message: expect.stringContaining("may not be called") } });
    expect(spy).not.toHaveBeenCalled();
  });

  it("that nobody takes is unavailable", async () => {
    const { result, tries } = await run(1, () => Promise.reject(new TypeError("refused")));
    expect(result).toMatchObject({ error: { code: "unavailable", message: "STS can't be reached" } });
    expect(tries).toBe(2);
  });
});
