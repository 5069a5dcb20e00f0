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
const QUOTAS = [
  quota("all", {}),
  quota("mount", { mountPath: AWS }),
  quota("path", { mountPath: AWS, pathSuffix: "role/web" }),
  quota("below", { mountPath: AWS, pathSuffix: "role/*" }),
  quota("further below", { mountPath: AWS, pathSuffix: "role/web/*" }),
  quota("role", { mountPath: AWS, role: "Web" }),
];
const TABLE = new QuotaTable(QUOTAS, DEFAULT_QUOTA_CONFIG);

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

  it.each([
    [AWS, "role/WEB", "path"],
    [AWS, "role/Web/tag", "further below"],
    [AWS, "ROLE/web", "mount"],
    ["auth/machines/", "role/web/secret-id-bound-cidrs", "older"],
    ["sys/", "policies/acl/web", "policy"],
    ["sys/", "policy/WEB", "policy"],
    ["sys/", "policies/acl/ web", "policy"],
    ["sys/", "policies/detailed/acl/web", "policy"],
    ["sys/", "policy", "policies"],
    ["sys/", "policies/acl//", "policies"],
    ["sys/", "policy/web-2", "policies of web"],
    ["sys/", "policies/acl/Web-2", "policies of web"],
    ["sys/", "policies/acl/other", "older policies"],
    ["sys/", "mounts/auth/aws", "enable"],
    ["sys/", "mounts/auth/AWS", "all"],
  ])("at %j%j, a spelling of what a quota names, is %j", (mountPath, suffix, name) => {
    const table = new QuotaTable(
      [
        ...QUOTAS,
        quota("older", { mountPath: "auth/machines/", pathSuffix: "role/WEB/bound-cidr-list" }),
        quota("policy", { mountPath: "sys/", pathSuffix: "policies/acl/Web" }),
        quota("policies", { mountPath: "sys/", pathSuffix: "policies/acl" }),
        quota("policies of web", { mountPath: "sys/", pathSuffix: "policies/acl/Web*" }),
        quota("older policies", { mountPath: "sys/", pathSuffix: "policy/*" }),
        quota("enable", { mountPath: "sys/", pathSuffix: "auth/aws" }),
      ],
      DEFAULT_QUOTA_CONFIG,
    );
    expect(table.find(mountPath, suffix, "")?.name).toBe(name);
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
