import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NO_PRIVATE_HOSTS } from "../../../../src/base/outbound-hosts.ts";
import { verifySignature } from "../../../../src/methods/jws.ts";
import type { JwtConfig } from "../../../../src/methods/jwt/config.ts";
import { keysFor } from "../../../../src/methods/jwt/key-set-cache.ts";

const NOW = Date.UTC(2027, 0, 1);
const MINUTE = 60_000;

/** What the issuer answers; null while it is down. */
let published: string[] | null;
let fetches: number;
let revision = 0;
let config: JwtConfig;

beforeEach(() => {
  published = ["a"];
  fetches = 0;
  // Fetched keys are remembered by revision, from one test to the next.
  config = {
    ...{
      discoveryUrl: "",
      jwksUrl: "https://issuer.example.com/keys",
      publicKeys: [],
      boundIssuer: "",
      algorithms: [],
    },
    ...{ defaultRole: "", revision: `keys.test ${revision++}` },
  };
  vi.stubGlobal("fetch", async () => {
    fetches++;
    if (!published) throw new TypeError("no answer");
    return Response.json({ keys: published.map((kid) => ({ kty: "EC", crv: "P-256", x: "AA", y: "AA", kid })) });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Ids of the keys that a token with the key id `kid` is verified by at `now`; null when there are none. */
async function kidsAt(now: number, kid = "a") {
  const keys = await keysFor(config, kid, NO_PRIVATE_HOSTS, now);
  return keys.ok ? keys.value.map((key) => key.kid) : null;
}

describe("the keys of an issuer", () => {
  it.each([
    ["alg", null],
    ["alg", ""],
    ["use", null],
    ["use", ""],
    ["key_ops", null],
    ["key_ops", []],
    ["d", null],
  ])("have the member %s absent when it is %j", async (name, value) => {
    vi.stubGlobal("fetch", async () => {
      return Response.json({ keys: [{ kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "a", [name]: value }] });
    });
    const keys = await keysFor(config, "a", NO_PRIVATE_HOSTS, NOW);
    expect(keys).toEqual({ ok: true, value: [{ kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "a" }] });
  });

  it("are not used after ten minutes, whatever was tried in between", async () => {
    expect(await kidsAt(NOW)).toEqual(["a"]);
    published = null;
    for (const age of [1, 5 * MINUTE, 9 * MINUTE, 10 * MINUTE - 1]) expect(await kidsAt(NOW + age)).toEqual(["a"]);
    // The one just before has failed, and no other fetch is made so soon.
    const tried = fetches;
    expect(await kidsAt(NOW + 10 * MINUTE)).toBeNull();
    expect(fetches).toBe(tried);
    expect(await kidsAt(NOW + 10 * MINUTE + 3_000)).toBeNull();
    expect(await kidsAt(NOW + 20 * MINUTE)).toBeNull();
  });

  it("are fetched again from five minutes on, once for many tokens", async () => {
    await kidsAt(NOW);
    expect(await kidsAt(NOW + 5 * MINUTE - 1)).toEqual(["a"]);
    expect(fetches).toBe(1);
    published = ["b"];
    expect(await kidsAt(NOW + 5 * MINUTE)).toEqual(["b"]);
    expect(await kidsAt(NOW + 5 * MINUTE + 1, "b")).toEqual(["b"]);
    expect(fetches).toBe(2);
  });

  it("that another request is fetching now are not used beyond their time by those that do not wait", async () => {
    await kidsAt(NOW);
    let answer = (_: Response) => {};
    vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve)));
    const slow = kidsAt(NOW + 10 * MINUTE);
    expect(await kidsAt(NOW + 10 * MINUTE)).toBeNull();
    answer(Response.json({ keys: [] }));
    expect(await slow).toEqual([]);
  });

  it("do not live longer when the clock goes back", async () => {
    await kidsAt(NOW);
    published = ["b"];
    expect(await kidsAt(NOW - 60 * MINUTE)).toEqual(["b"]);
  });
});

it("at most eight keys are tried for a token without a key id", async () => {
  const pairs = await Promise.all(Array.from({ length: 9 }, () => generateKeyPair("ES256")));
  const keys = await Promise.all(pairs.map(({ publicKey }) => exportJWK(publicKey)));
  const verified = await Promise.all(
    pairs.map(async ({ privateKey }) => {
      const token = await new SignJWT({ sub: "a" }).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
      return (await verifySignature(token, "ES256", keys)).ok;
    }),
  );
  expect(verified).toEqual([...Array(8).fill(true), false]);
});

it("keys in PEM verify a token with any key id, and those of an earlier configuration none", async () => {
  const [one, other] = [await generateKeyPair("ES256"), await generateKeyPair("ES256")];
  const pemOf = async ({ publicKey }: typeof one) => [await exportSPKI(publicKey)];
  const isVerified = async (kid: string | undefined) => {
    const header = { alg: "ES256", ...(kid !== undefined && { kid }) };
    const token = await new SignJWT({ sub: "a" }).setProtectedHeader(header).sign(one.privateKey);
    const keys = await keysFor(config, kid, NO_PRIVATE_HOSTS, NOW);
    return keys.ok && (await verifySignature(token, "ES256", keys.value)).ok;
  };
  config = { ...config, publicKeys: await pemOf(one) };
  for (const kid of [undefined, "a", "b", "b", "a", undefined])
    expect([kid, await isVerified(kid)]).toEqual([kid, true]);
  config = { ...config, publicKeys: await pemOf(other), revision: `keys.test ${revision++}` };
  for (const kid of [undefined, "a"]) expect([kid, await isVerified(kid)]).toEqual([kid, false]);
});
