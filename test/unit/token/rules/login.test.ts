import { describe, expect, it } from "vitest";
import { DEFAULT_MOUNT_CONFIG, type MountConfig, newMount } from "../../../../src/system/mount.ts";
import { type Login, planLogin } from "../../../../src/token/rules/login.ts";
import { planRenew } from "../../../../src/token/rules/renew.ts";
import { chooseTokenType } from "../../../../src/token/rules/type.ts";
import { PLAIN_LOGIN } from "../../../support/plain-login.ts";

const NOW = Date.UTC(2027, 2, 1);
const LOGIN: Login = {
  ...PLAIN_LOGIN,
  policies: ["Dev"],
  metadata: { role: "dev" },
  internal: { role_name: "dev" },
};

function mount(config: Partial<MountConfig> = {}, path = "teams/a/cloud/") {
  return newMount({ path, type: "cloud", description: "", config: { ...DEFAULT_MOUNT_CONFIG, ...config } });
}

function plan(login: Partial<Login>, config: Partial<MountConfig> = {}) {
  const planned = planLogin(mount(config), { ...LOGIN, ...login }, 0, NOW);
  if (!planned.ok) throw new Error(JSON.stringify(planned.error));
  return planned.value;
}

function refusal(login: Partial<Login>, config: Partial<MountConfig> = {}) {
  const planned = planLogin(mount(config), { ...LOGIN, ...login }, 0, NOW);
  return planned.ok ? null : planned.error;
}

describe("the token of a login", () => {
  it("has the newest watermark, so that earlier ones do not end it", () => {
    const planned = planLogin(mount(), LOGIN, 7, NOW);
    expect(planned.ok && planned.value.spec.record.watermark).toBe(7);
  });

  it("has its tree where the mount says", () => {
    expect(plan({}).spec).not.toHaveProperty("location");
    expect(plan({}, { locationHint: "weur" }).spec.location).toBe("weur");
  });

  it.each([
    ["service", "default", "service"],
    ["service", "service", "service"],
    ["service", "batch", "service"],
    ["batch", "default", "batch"],
    ["batch", "service", "batch"],
    ["batch", "batch", "batch"],
    ["default-service", "default", "service"],
    ["default-service", "service", "service"],
    ["default-service", "batch", "batch"],
    ["default-batch", "default", "batch"],
    ["default-batch", "service", "service"],
    ["default-batch", "batch", "batch"],
  ] as const)("of a %s mount and a method that says %s is a %s token", (onMount, method, type) => {
    expect(chooseTokenType(onMount, method)).toBe(type);
    expect(plan({ tokenType: method }, { tokenType: onMount }).spec.type).toBe(type);
  });

  it("has no parent, the path of its mount, the method's record, and default besides the role's policies", () => {
    const at = mount();
    const planned = planLogin(at, { ...LOGIN, displayName: "i-1" }, 0, NOW);
    expect(planned.ok && planned.value.spec).toMatchObject({
      orphan: true,
      record: {
        policies: ["default", "dev"],
        path: "auth/teams/a/cloud/login",
        displayName: "teams-a-cloud-i-1",
        meta: { role: "dev" },
        renewable: true,
        leased: true,
        login: { mount: at.uuid, internal: { role_name: "dev" } },
      },
    });
    expect(plan({}).spec.record.displayName).toBe("teams-a-cloud");
    expect(plan({ noDefaultPolicy: true }).spec.record.policies).toEqual(["dev"]);
  });

  it("is never a root token, whatever the spelling", () => {
    for (const name of ["root", "ROOT", " root "]) {
      expect(refusal({ policies: [name] })).toMatchObject({ message: "auth methods cannot create root tokens" });
    }
    expect(refusal({ policies: ["response-wrapping"] })).not.toBeNull();
  });

  it("lives as the role says, below the mount's maximum", () => {
    expect(plan({}).spec.record.creationTtl).toBe(2_764_800);
    expect(plan({}, { defaultLeaseTtl: 60 }).spec).toMatchObject({ expiresAt: NOW + 60_000 });
    expect(plan({ ttl: 300 }, { maxLeaseTtl: 120 })).toMatchObject({
      spec: { expiresAt: NOW + 120_000 },
      warnings: [expect.stringContaining("exceeded the effective max_ttl")],
    });
    expect(plan({ maxTtl: 90 }).spec.expiresAt).toBe(NOW + 90_000);
    expect(plan({ maxTtl: 90 }, { maxLeaseTtl: 30 }).spec.expiresAt).toBe(NOW + 30_000);
    expect(plan({ period: 50, explicitMaxTtl: 40 }).spec.expiresAt).toBe(NOW + 40_000);
    expect(plan({ period: 50 }).spec).toMatchObject({ expiresAt: NOW + 50_000, record: { period: 50 } });
  });

  it("is not a batch token that only looks limited", () => {
    const batch = { tokenType: "batch" } as const;
    for (const limit of [{ numUses: 1 }, { period: 60 }]) {
      expect(refusal(limit, batch)).toMatchObject({ message: expect.stringContaining("batch tokens cannot have") });
      expect(refusal(limit)).toBeNull();
    }
    expect(plan({}, batch).spec.record.renewable).toBe(false);
  });

  it("is a batch token within the explicit maximum of its role", () => {
    expect(plan({ tokenType: "batch", explicitMaxTtl: 60 }).spec).toMatchObject({
      type: "batch",
      expiresAt: NOW + 60_000,
    });
  });
});

describe("renewal of the token of a login", () => {
  function renew(terms: { ttl: number; maxTtl: number; period?: number }, increment: number, after: number) {
    const { spec } = plan({ ttl: 100 });
    const token = {
      ...spec.record,
      treeId: "",
      row: 1,
      accessor: "",
      orphan: true,
      usesLeft: 0,
      grantedTtl: 100,
      expiresAt: spec.expiresAt,
      renewedAt: null,
    };
    const ttl = { defaultSeconds: 500, maxSeconds: 1000 };
    return planRenew(token, { period: 0, explicitMaxTtl: 0, ...terms }, increment, ttl, NOW + after * 1000);
  }

  it("takes the role's lifetime of today, else the mount's default, never the last grant", () => {
    expect(renew({ ttl: 70, maxTtl: 0 }, 0, 10)).toMatchObject({ value: { ttl: 70 } });
    expect(renew({ ttl: 0, maxTtl: 0 }, 0, 10)).toMatchObject({ value: { ttl: 500 } });
    expect(renew({ ttl: 70, maxTtl: 0 }, 90, 10)).toMatchObject({ value: { ttl: 90 } });
  });

  it("ends at the role's maximum, counted from the login", () => {
    expect(renew({ ttl: 70, maxTtl: 60 }, 0, 10)).toMatchObject({ value: { ttl: 50 } });
    expect(renew({ ttl: 70, maxTtl: 60 }, 0, 60)).toMatchObject({
      error: { message: "past the max TTL, cannot renew" },
    });
    expect(renew({ ttl: 70, maxTtl: 0, period: 30 }, 90, 999)).toMatchObject({ value: { ttl: 30 } });
  });
});
