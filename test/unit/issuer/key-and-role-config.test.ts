import { describe, expect, it } from "vitest";
import {
  issuerNameProblem,
  type KeyWrite,
  maySign,
  planKey,
  planRole,
  type RoleWrite,
  readIssuer,
} from "../../../src/issuer/key-and-role-config.ts";

const NOTHING: KeyWrite = {};
const NO_ROLE: RoleWrite = {};

describe("a key", () => {
  it("has the reference's defaults, and lets nobody sign by default", () => {
    const planned = planKey(null, NOTHING, 0);
    expect(planned).toEqual({
      ok: true,
      value: { algorithm: "RS256", rotationPeriod: 86_400, verificationTtl: 86_400, allowedClientIds: [] },
    });
    expect(planned.ok && maySign(planned.value, "client")).toBe(false);
  });

  it("keeps what a write leaves out", () => {
    const before = { algorithm: "ES256", rotationPeriod: 600, verificationTtl: 1200, allowedClientIds: ["a"] } as const;
    expect(planKey(before, { ...NOTHING, verificationTtl: 6000 }, 1200)).toEqual({
      ok: true,
      value: { ...before, verificationTtl: 6000 },
    });
  });

  it.each([
    [{ rotationPeriod: 59 }, "rotation_period must be at least one minute"],
    [{ rotationPeriod: 60, verificationTtl: 601 }, "verification_ttl cannot be longer than 10x rotation_period"],
    [{ verificationTtl: -1 }, "verification_ttl cannot be negative"],
    [{ rotationPeriod: 2 ** 33 }, "rotation_period must be at most ten years"],
    [{ allowedClientIds: ["\n"] }, "a client id must not contain control characters"],
  ])("with %j is refused", (write, message) => {
    expect(planKey(null, { ...NOTHING, ...write }, 0)).toEqual({
      ok: false,
      error: { code: "invalid_request", message },
    });
  });

  it("outlives the tokens of its roles", () => {
    expect(planKey(null, { ...NOTHING, verificationTtl: 60 }, 61).ok).toBe(false);
  });

  it("lets those sign that it lists", () => {
    const key = { algorithm: "ES256", rotationPeriod: 60, verificationTtl: 60 } as const;
    expect(maySign({ ...key, allowedClientIds: ["a"] }, "a")).toBe(true);
    expect(maySign({ ...key, allowedClientIds: ["a"] }, "b")).toBe(false);
    expect(maySign({ ...key, allowedClientIds: ["*"] }, "b")).toBe(true);
  });
});

describe("a role", () => {
  it("needs a key, and gets a client id that stays", () => {
    expect(planRole(null, NO_ROLE, "new").ok).toBe(false);
    expect(planRole(null, { ...NO_ROLE, key: "k".repeat(129) }, "new").ok).toBe(false);
    const made = planRole(null, { ...NO_ROLE, key: "k" }, "new");
    expect(made).toEqual({ ok: true, value: { key: "k", template: "", ttl: 86_400, clientId: "new" } });
    const again = made.ok ? planRole(made.value, { ...NO_ROLE, ttl: 60 }, "other") : made;
    expect(again).toMatchObject({ value: { clientId: "new", ttl: 60 } });
  });
});

describe("names and issuers", () => {
  it("take the reference's form", () => {
    for (const name of ["a", "a-b", "a.b_c", "_x", "9"]) expect(issuerNameProblem(name)).toBeNull();
    for (const name of ["", "-a", "a-", "a/b", "a b", "ä", "x".repeat(129)])
      expect(issuerNameProblem(name)).not.toBeNull();
  });

  it("an issuer is an origin and nothing more", () => {
    for (const text of ["https://a.test", "https://a.test:8200", "http://127.0.0.1:8200"]) {
      expect(readIssuer(text)).toEqual({ ok: true, value: text });
    }
    expect(readIssuer("")).toEqual({ ok: true, value: "" });
    const bad = [
      "a.test",
      "https://",
      "ftp://a.test",
      "https://a.test/x",
      "https://a.test?x",
      "https://u:p@a.test",
      "https://a.test#x",
    ];
    for (const text of bad) expect(readIssuer(text).ok).toBe(false);
  });
});
