import { describe, expect, it } from "vitest";
import { DEFAULT_QUOTA_CONFIG, QuotaTable, type RateLimitQuota } from "../../../src/quota/quota.ts";

const quota = (name: string, change: Partial<RateLimitQuota>): RateLimitQuota => ({
  name,
  mountPath: "",
  pathSuffix: "",
  role: "",
  rate: 1,
  interval: 1,
  blockInterval: 0,
  inheritable: false,
  revision: 1,
  ...change,
});

const AWS = "auth/aws/";
const TABLE = new QuotaTable(
  [
    quota("all", {}),
    quota("mount", { mountPath: AWS }),
    quota("path", { mountPath: AWS, pathSuffix: "role/web" }),
    quota("below", { mountPath: AWS, pathSuffix: "role/*" }),
    quota("further below", { mountPath: AWS, pathSuffix: "role/web/*" }),
    quota("role", { mountPath: AWS, role: "Web" }),
  ],
  DEFAULT_QUOTA_CONFIG,
);

describe("the quota that counts", () => {
  it.each([
    ["", "", "", "all"],
    ["sys/", "auth", "", "all"],
    [AWS, "login", "", "mount"],
    [AWS, "login", "other", "mount"],
    [AWS, "login", "web", "role"],
    [AWS, "role/web", "", "path"],
    [AWS, "role/web/", "", "path"],
    [AWS, "role/web//", "", "path"],
    [AWS, "role/web/tag", "", "further below"],
    [AWS, "role/webs", "", "below"],
    [AWS, "role/", "", "mount"],
    ["auth/other/", "role/web", "web", "all"],
  ])("at %j%j for the role %j is %j", (mountPath, suffix, role, name) => {
    expect(TABLE.find(mountPath, suffix, role)?.name).toBe(name);
  });

  it("is none where none was written", () => {
    const table = new QuotaTable([quota("mount", { mountPath: AWS })], DEFAULT_QUOTA_CONFIG);
    expect([table.isEmpty, table.find("sys/", "auth", "")]).toEqual([false, null]);
    expect(new QuotaTable([], DEFAULT_QUOTA_CONFIG).isEmpty).toBe(true);
  });

  it("can depend on the role only at a mount with a quota for one", () => {
    expect([TABLE.hasRoles(AWS), TABLE.hasRoles("auth/other/")]).toEqual([true, false]);
  });
});

describe("exempt paths", () => {
  const exempt = (exemptPaths: string[], path: string) =>
    new QuotaTable([], { ...DEFAULT_QUOTA_CONFIG, exemptPaths }).isExempt(path);

  it.each([
    [["sys/health"], "sys/health", true],
    [["sys/*"], "sys/auth", true],
    [["sys/", "!sys/auth"], "sys/auth", false],
    [["sys/", "!sys/auth", "sys/auth/x"], "sys/auth/x", true],
    [["auth/x"], "sys/auth", false],
    [[""], "sys/auth", false],
    [["*"], "sys/auth", false],
    [[], "sys/health", false],
  ])("%j: %j is exempt: %j", (paths, path, expected) => {
    expect(exempt(paths, path)).toBe(expected);
  });
});
