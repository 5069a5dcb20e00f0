import { createHmac } from "node:crypto";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { importKeys, type Keys, newKeyRing } from "../../../src/crypto/key-ring.ts";
import { sealText } from "../../../src/crypto/sealed-data.ts";
import type { Env } from "../../../src/env.ts";
import {
  leaseDataContext,
  type Revocation,
  sendRevocation,
  signingKey,
} from "../../../src/lease/revocation-delivery.ts";
import { environmentWith } from "../../support/environment.ts";

const NOW = Date.UTC(2027, 2, 1);
const ENV = {} as Env;
const REVOCATION: Revocation = {
  path: "db/creds/app",
  tail: "tail",
  target: "https://db.example.com/revoke",
  issuedAt: NOW - 5000,
  data: null,
};

let keys: Keys;

beforeAll(async () => {
  keys = await importKeys(newKeyRing(0));
});

afterEach(() => vi.restoreAllMocks());

function answer(respond: () => Response | Promise<Response>) {
  return vi.spyOn(globalThis, "fetch").mockImplementation(async () => respond());
}

const send = (revocation: Partial<Revocation> = {}, env = ENV) =>
  sendRevocation(env, keys, { ...REVOCATION, ...revocation }, NOW);

describe("sending a revocation", () => {
  it("is a POST that the target can check with its key", async () => {
    const fetched = answer(() => new Response(null, { status: 204 }));
    const data = await sealText(keys, leaseDataContext("tail", REVOCATION.target), '{"user":"u1"}');
    expect(await send({ data })).toEqual({ delivered: true });
    const sent = new Request(fetched.mock.calls[0]?.[0] ?? "");
    expect(sent).toMatchObject({ url: "https://db.example.com/revoke", method: "POST", redirect: "manual" });
    const body = await sent.text();
    expect(JSON.parse(body)).toEqual({
      lease_id: "db/creds/app/tail",
      path: "db/creds/app",
      target: "https://db.example.com/revoke",
      issue_time: new Date(NOW - 5000).toISOString(),
      data: { user: "u1" },
    });
    const { headers } = sent;
    expect(headers.get("Content-Type")).toBe("application/json");
    expect(headers.get("Idempotency-Key")).toBe("db/creds/app/tail");
    const key = await signingKey(keys, "https://db.example.com/other");
    const mac = createHmac("sha256", key)
      .update(`${NOW / 1000}.${body}`)
      .digest("hex");
    expect(headers.get("Grove-Signature")).toBe(`t=${NOW / 1000},v1=${mac}`);
  });

  it("signs with another key for each origin", async () => {
    const of = async (target: string) => Buffer.from(await signingKey(keys, target)).toString("hex");
    expect(await of("https://a.example.com/")).not.toBe(await of("https://b.example.com/"));
    expect(await of("service://A/x")).not.toBe(await of("service://B/x"));
    expect(await of("https://a.example.com/1")).toBe(await of("https://a.example.com/2"));
  });

  it.each([200, 202, 204, 410])("takes %i for done", async (status) => {
    answer(() => new Response(null, { status }));
    expect(await send()).toEqual({ delivered: true });
  });

  it.each([400, 405, 415, 422, 501])("takes %i for hopeless", async (status) => {
    answer(() => new Response("{}", { status }));
    expect(await send()).toEqual({
      delivered: false,
      error: `the target db.example.com answered ${status}`,
      hopeless: true,
    });
  });

  it.each([301, 302, 307, 401, 403, 404, 408, 409, 429, 500, 502, 503])("tries again after %i", async (status) => {
    answer(() => new Response(null, { status, headers: { Location: "https://169.254.169.254/" } }));
    expect(await send()).toEqual({
      delivered: false,
      error: `the target db.example.com answered ${status}`,
      hopeless: false,
    });
  });

  it("tells nothing of what a target said or why it can't be reached", async () => {
    answer(() => new Response("secret inside", { status: 500 }));
    expect(JSON.stringify(await send())).not.toContain("secret");
    answer(() => Promise.reject(new TypeError("connect 10.1.2.3 refused")));
    expect(await send()).toEqual({
      delivered: false,
      error: "the target db.example.com can't be reached",
      hopeless: false,
    });
  });

  it("does not wait for a target longer than 5 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const aborted: boolean[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (request) => {
      const { signal } = new Request(request);
      // The timer starts when the request is on its way.
      await Promise.resolve();
      vi.advanceTimersByTime(4_999);
      aborted.push(signal.aborted);
      vi.advanceTimersByTime(1);
      return new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.push(true);
          reject(signal.reason);
        });
      });
    });
    expect(await send()).toMatchObject({ error: "the target db.example.com did not answer in 5 s", hopeless: false });
    expect(aborted).toEqual([false, true]);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("asks the settings once more", async () => {
    const fetched = answer(() => new Response(null));
    const strict = environmentWith({ LEASE_TARGET_HOSTS: "only.example.com" });
    expect(await send({}, strict)).toMatchObject({ delivered: false, hopeless: false });
    const target = "http://127.0.0.1/";
    expect(await send({ target })).toMatchObject({ delivered: false });
    expect(fetched).not.toHaveBeenCalled();
  });

  it.each([
    ["the lease", "another", REVOCATION.target],
    ["the target", "tail", "https://elsewhere.example.net/"],
  ])("gives up data that do not belong to %s", async (_, tail, target) => {
    const fetched = answer(() => new Response(null));
    const data = await sealText(keys, leaseDataContext(tail, target), "{}");
    expect(await send({ data })).toMatchObject({ delivered: false, hopeless: true });
    expect(fetched).not.toHaveBeenCalled();
  });

  it("goes through a service binding that operators named, and nothing else of the environment", async () => {
    const fetched = answer(() => new Response(null, { status: 500 }));
    const called: string[] = [];
    const engine = {
      fetch: async ({ url }: Request) => {
        called.push(url);
        return new Response(null, { status: 200 });
      },
    };
    const env = environmentWith({ ENGINE: engine, LEASE_SERVICES: "ENGINE,GROVE_SEAL_KEY", GROVE_SEAL_KEY: "x" });
    const to = (target: string) => send({ target }, env);
    expect(await to("service://ENGINE/revoke")).toEqual({ delivered: true });
    expect(called).toEqual(["https://engine.service/revoke"]);
    expect(await to("service://GROVE_SEAL_KEY/x")).toMatchObject({ delivered: false });
    expect(await to("service://OTHER/x")).toMatchObject({ delivered: false });
    expect(fetched).not.toHaveBeenCalled();
  });
});
