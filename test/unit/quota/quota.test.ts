import { describe, expect, it } from "vitest";
import { checkQuotaConfig, newQuota, type QuotaWrite } from "../../../src/quota/quota.ts";

const PLACES = [
  { path: "sys/", hasRoles: false },
  { path: "auth/token/", hasRoles: false },
  { path: "auth/aws/", hasRoles: true },
  { path: "auth/aws/eu/", hasRoles: true },
];
const write = (change: Partial<QuotaWrite>): QuotaWrite => ({
  name: "x",
  path: "",
  role: "",
  rate: 5.5,
  interval: 0,
  blockInterval: 0,
  inheritable: undefined,
  ...change,
});
const made = (change: Partial<QuotaWrite>) => newQuota(write(change), PLACES, [], 7);
const refusal = (change: Partial<QuotaWrite>) => {
  const result = made(change);
  return result.ok ? null : result.error;
};

describe("a quota that is written", () => {
  it("is for the whole installation and one second by default", () => {
    expect(made({})).toEqual({
      ok: true,
      value: {
        name: "x",
        mountPath: "",
        pathSuffix: "",
        role: "",
        rate: 5.5,
        interval: 1,
        blockInterval: 0,
        inheritable: true,
        revision: 7,
      },
    });
  });

  it.each([
    ["/auth/aws", "auth/aws/", ""],
    ["auth/aws/login", "auth/aws/", "login"],
    ["auth/aws/login/", "auth/aws/", "login"],
    ["auth/aws/eu/login", "auth/aws/eu/", "login"],
    ["auth/aws/role/*", "auth/aws/", "role/*"],
    ["/", "", ""],
  ])("with the path %j is for %j and below it %j", (path, mountPath, pathSuffix) => {
    expect(made({ path })).toMatchObject({ ok: true, value: { mountPath, pathSuffix } });
  });

  it.each([
    [{ rate: 0 }, "'rate' is invalid"],
    [{ rate: -1 }, "'rate' is invalid"],
    [{ rate: Number.NaN }, "'rate' is invalid"],
    [{ rate: 1_000_000_001 }, "'rate' is invalid"],
    [{ interval: -1 }, "interval must be from 1 to 86400 seconds"],
    [{ interval: -5 }, "interval must be from 1 to 86400 seconds"],
    [{ interval: 86_401 }, "interval must be from 1 to 86400 seconds"],
    [{ blockInterval: -1 }, "block_interval must be from 0 to 86400 seconds"],
    [{ blockInterval: 86_401 }, "block_interval must be from 0 to 86400 seconds"],
    [{ path: "nope" }, "invalid mount path: no mount serves it"],
    [{ path: "auth" }, "invalid mount path: no mount serves it"],
    [{ path: "auth/token", role: "a" }, 'Mount path "auth/token/" does not support use with role-based quotas'],
    [
      { path: "sys", role: "a" },
      'Mount path "sys/" is not a valid auth method and therefore unsuitable for use with role-based quotas',
    ],
    [{ name: "x".repeat(129) }, "the name has at most 128 characters"],
    [{ path: "x".repeat(513) }, "path and role have at most 512 characters"],
    [{ path: "auth/aws", role: "x".repeat(513) }, "path and role have at most 512 characters"],
  ])("%j is refused", (change, error) => expect(refusal(change)).toBe(error));

  it.each([
    { rate: 1_000_000_000 },
    { interval: 86_400 },
    { blockInterval: 86_400 },
    { name: "x".repeat(128) },
    { path: `sys/${"x".repeat(508)}` },
    { path: "auth/aws", role: "x".repeat(512) },
  ])("%j is just allowed", (change) => expect(refusal(change)).toBeNull());

  it("has a role or a path below the mount, not both", () => {
    expect(refusal({ path: "auth/aws/login", role: "a" })).toMatch(
      /^Quotas cannot contain both a path suffix and a role/,
    );
    expect(made({ path: "auth/aws", role: "a" })).toMatchObject({ ok: true, value: { role: "a" } });
  });

  it("is refused when another is for the same requests", () => {
    const first = made({ path: "auth/aws", role: "Web" });
    if (!first.ok) throw new Error(first.error);
    const others = [{ ...first.value, name: "first" }];
    const again = newQuota(write({ path: "auth/aws/", role: "web" }), PLACES, others, 8);
    expect(again).toEqual({ ok: false, error: 'quota rule with similar properties exists under the name "first"' });
    expect(newQuota(write({ path: "auth/aws" }), PLACES, others, 8).ok).toBe(true);
  });

  it("is refused when there are as many as there may be", () => {
    const first = made({});
    if (!first.ok) throw new Error(first.error);
    const others = Array.from({ length: 500 }, (_, i) => ({ ...first.value, name: `${i}`, pathSuffix: `${i}` }));
    expect(newQuota(write({ path: "sys" }), PLACES, others, 8).ok).toBe(false);
    expect(newQuota(write({ path: "sys" }), PLACES, others.slice(1), 8).ok).toBe(true);
  });
});

it("a configuration has bounds", () => {
  const config = { exemptPaths: ["sys/health"], auditLogging: false, responseHeaders: false };
  expect(checkQuotaConfig(config)).toEqual({ ok: true, value: config });
  expect(checkQuotaConfig({ ...config, exemptPaths: Array<string>(200).fill("a".repeat(512)) }).ok).toBe(true);
  expect(checkQuotaConfig({ ...config, exemptPaths: Array<string>(201).fill("a") }).ok).toBe(false);
  expect(checkQuotaConfig({ ...config, exemptPaths: ["a".repeat(513)] }).ok).toBe(false);
});
