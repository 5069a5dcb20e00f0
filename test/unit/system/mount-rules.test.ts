import { describe, expect, it } from "vitest";
import {
  configureMount,
  DEFAULT_MOUNT_CONFIG,
  MAX_MOUNTS,
  type MountChange,
  mountTtl,
  mountTypeProblem,
  newMount,
  newMountProblem,
  tuneMount,
} from "../../../src/system/mount.ts";
import { mountPathProblem, normalizeMountPath } from "../../../src/system/mount-path.ts";

const NO_CHANGE: MountChange = {
  description: null,
  defaultLeaseTtl: null,
  maxLeaseTtl: null,
  tokenType: null,
  listingVisibility: null,
  passthroughRequestHeaders: null,
  allowedResponseHeaders: null,
  auditNonHmacRequestKeys: null,
  auditNonHmacResponseKeys: null,
  locationHint: null,
};

function mountAt(path: string, type = "cloud") {
  return newMount({ path, type, description: "", config: DEFAULT_MOUNT_CONFIG });
}

describe("mount paths", () => {
  it("are stored in one spelling", () => {
    for (const spelling of ["cloud", "/cloud", "cloud/", "//cloud//", " cloud "]) {
      expect(normalizeMountPath(spelling)).toBe("cloud/");
    }
  });

  it("may have several segments", () => {
    expect(mountPathProblem("teams/a/cloud/", ["teams/b/cloud/"])).toBeNull();
  });

  it("never lie above or below another mount", () => {
    const existing = ["token/", "teams/a/"];
    expect(mountPathProblem("token/", existing)).toBe("path is already in use at token/");
    expect(mountPathProblem("token/x/", existing)).toBe("path is already in use at token/");
    expect(mountPathProblem("teams/a/", existing)).toBe("path is already in use at teams/a/");
    expect(mountPathProblem("teams/", existing)).toBe("path is already in use at teams/a/");
    expect(mountPathProblem("teams/ab/", existing)).toBeNull();
  });

  it("hold nothing that a policy, a URL or another spelling could turn into another path", () => {
    for (const path of [
      "/",
      "a//b/",
      "../",
      "./",
      "a/../b/",
      "a*/",
      "+/",
      "a b/",
      "a%2f/",
      "ä/",
      "a\n/",
      "tune/",
      "a/tune/",
    ]) {
      expect(mountPathProblem(path, []), path).not.toBeNull();
    }
    expect(mountPathProblem(`${"a".repeat(127)}/`, [])).toBeNull();
    expect(mountPathProblem(`${"a".repeat(128)}/`, [])).not.toBeNull();
    expect(mountPathProblem("a/".repeat(8), [])).toBeNull();
    expect(mountPathProblem("a/".repeat(9), [])).not.toBeNull();
  });

  it("are limited in number", () => {
    const existing = Array.from({ length: MAX_MOUNTS }, (_, i) => mountAt(`m${i}/`));
    expect(newMountProblem("one-more/", existing)).toContain("at most");
    expect(newMountProblem("one-more/", existing.slice(1))).toBeNull();
  });
});

describe("mount types", () => {
  const TYPES = ["aws", "cloud"];

  it("are those that Grove has, and token never a second time", () => {
    expect(mountTypeProblem("cloud", TYPES)).toBeNull();
    expect(mountTypeProblem("aws", TYPES)).toBeNull();
    expect(mountTypeProblem("", TYPES)).toBe("backend type must be specified as a string");
    expect(mountTypeProblem("token", TYPES)).toBe("token credential backend cannot be instantiated");
    expect(mountTypeProblem("secret-value", TYPES)).not.toContain("secret-value");
    expect(mountTypeProblem("constructor", TYPES)).not.toBeNull();
  });
});

describe("mount settings", () => {
  it("refuse a default above the maximum when the mount is made", () => {
    const configure = (change: Partial<MountChange>) =>
      configureMount(DEFAULT_MOUNT_CONFIG, { ...NO_CHANGE, ...change });
    expect(configure({ defaultLeaseTtl: 11, maxLeaseTtl: 10 })).toEqual({
      ok: false,
      error: "given default lease TTL greater than given max lease TTL",
    });
    expect(configure({ defaultLeaseTtl: 2_764_801 })).toEqual({
      ok: false,
      error: "given default lease TTL greater than system max lease TTL of 2764800",
    });
    expect(configure({ defaultLeaseTtl: 2_764_801, maxLeaseTtl: 3_000_000 }).ok).toBe(true);
    expect(configure({ tokenType: "other" })).toEqual({ ok: false, error: "invalid value for 'token_type'" });
    expect(configure({ listingVisibility: "x" })).toEqual({ ok: false, error: "invalid listing_visibility" });
    expect(configure({ defaultLeaseTtl: 10, maxLeaseTtl: 10 }).ok).toBe(true);
    expect(configure({ defaultLeaseTtl: 2_764_800 }).ok).toBe(true);
  });

  it.each<[Partial<MountChange>, Partial<MountChange>]>([
    [{ description: "x".repeat(1024) }, { description: "x".repeat(1025) }],
    [{ passthroughRequestHeaders: Array(64).fill("x") }, { passthroughRequestHeaders: Array(65).fill("x") }],
    [{ allowedResponseHeaders: Array(64).fill("x") }, { allowedResponseHeaders: Array(65).fill("x") }],
    [{ auditNonHmacRequestKeys: ["x".repeat(128)] }, { auditNonHmacRequestKeys: ["x".repeat(129)] }],
    [{ auditNonHmacResponseKeys: ["x".repeat(128)] }, { auditNonHmacResponseKeys: ["x".repeat(129)] }],
  ])("have bounds: row %#", (most, tooMuch) => {
    expect(configureMount(DEFAULT_MOUNT_CONFIG, { ...NO_CHANGE, ...most }).ok).toBe(true);
    expect(configureMount(DEFAULT_MOUNT_CONFIG, { ...NO_CHANGE, ...tooMuch }).ok).toBe(false);
  });

  it("keep what a tuning does not name and refuse a conflict with what is set", () => {
    const mount = { ...mountAt("cloud/"), config: { ...DEFAULT_MOUNT_CONFIG, defaultLeaseTtl: 600 } };
    const tuned = tuneMount(mount, { ...NO_CHANGE, maxLeaseTtl: 3600 });
    expect(tuned.ok && tuned.value.config).toMatchObject({ defaultLeaseTtl: 600, maxLeaseTtl: 3600 });
    expect(tuneMount(mount, { ...NO_CHANGE, maxLeaseTtl: 300 })).toEqual({
      ok: false,
      error: "backend max lease TTL of 300 would be less than backend default lease TTL of 600",
    });
  });

  it("never change the kind of token that the token method gives", () => {
    expect(tuneMount(mountAt("token/", "token"), { ...NO_CHANGE, tokenType: "batch" })).toEqual({
      ok: false,
      error: "'token_type' cannot be set for 'token' or 'ns_token' auth mounts",
    });
  });

  it("fall back to the system's lifetimes, the default never above the maximum", () => {
    const ttl = (defaultLeaseTtl: number, maxLeaseTtl: number) =>
      mountTtl({ ...mountAt("cloud/"), config: { ...DEFAULT_MOUNT_CONFIG, defaultLeaseTtl, maxLeaseTtl } });
    expect(ttl(0, 0)).toEqual({ defaultSeconds: 2_764_800, maxSeconds: 2_764_800 });
    expect(ttl(0, 60)).toEqual({ defaultSeconds: 60, maxSeconds: 60 });
    expect(ttl(30, 60)).toEqual({ defaultSeconds: 30, maxSeconds: 60 });
  });
});
