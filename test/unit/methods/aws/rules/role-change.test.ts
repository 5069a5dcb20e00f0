import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BOUND_FIELDS,
  CLOUD_ROLE_FIELDS,
  CLOUD_ROLE_VIEW,
  type CloudRole,
  type CloudRoleFields,
  changeCloudRole,
  type RoleChangeInput,
  unmatchableWarnings,
} from "../../../../../src/methods/aws/rules/role.ts";
import { valuesOf } from "../../../../support/values.ts";

const MOUNT = { defaultSeconds: 3600, maxSeconds: 7200 };
const FRESH = { roleId: "role-1", sealedTagKey: "sealed" };
const ARN = "arn:aws:iam::123456789012:role/app";

function write(body: Record<string, unknown>, options: Partial<RoleChangeInput> = {}) {
  const { role: _, ...sent } = valuesOf(CLOUD_ROLE_FIELDS, body);
  return changeCloudRole({
    before: null,
    sent: sent as CloudRoleFields,
    mount: MOUNT,
    fresh: FRESH,
    resolved: {},
    ...options,
  });
}

function written(body: Record<string, unknown>, options: Partial<RoleChangeInput> = {}): CloudRole {
  const result = write(body, options);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  if (result.value.kind !== "changed") throw new Error("principals are not resolved");
  return result.value.role;
}

function refusal(body: Record<string, unknown>, options: Partial<RoleChangeInput> = {}): string | null {
  const result = write(body, options);
  return result.ok || !("message" in result.error) ? null : result.error.message;
}

const VM = { auth_type: "vm", bound_image_id: "ami-1" };
const IAM = { bound_iam_principal_arn: `${ARN}/*` };
const INFERRING = { inferred_entity_type: "vm_instance", inferred_cloud_region: "us-east-1" };

const NOT_CHECKED = (field: string) => `specified ${field} but not specifying vm auth_type or inferring vm_instance`;

/** Each makes a write invalid; in the order in which they are reported. */
const VM_SPOILERS: [Record<string, unknown>, string][] = [
  [{ auth_type: "smoke" }, "unrecognized auth_type: smoke"],
  [{ inferred_entity_type: "vm_instance" }, "specified inferred_entity_type but didn't allow iam auth_type"],
  [{ inferred_cloud_region: "us-east-1" }, "specified inferred_cloud_region but not inferred_entity_type"],
  [{ bound_iam_principal_arn: ARN }, "specified bound_iam_principal_arn but not specifying iam auth_type"],
  [
    { allow_instance_migration: true, disallow_reauthentication: true },
    "cannot specify both disallow_reauthentication=true and allow_instance_migration=true",
  ],
  [{ token_num_uses: -1 }, "'token_num_uses' cannot be negative"],
  [{ token_period: "3h" }, 'period of "3h" is greater than the backend\'s maximum lease TTL of "2h"'],
  [{ role_tag: "x".repeat(128) }, "length of role tag exceeds the VM key limit of 127 characters"],
];

const IAM_SPOILERS: [Record<string, unknown>, string][] = [
  [{ inferred_entity_type: "container" }, "specified invalid inferred_entity_type: container"],
  [{ bound_account_id: "1" }, NOT_CHECKED("bound_account_id")],
  [{ bound_region: "us-east-1" }, NOT_CHECKED("bound_region")],
  [{ bound_image_id: "ami-1" }, NOT_CHECKED("bound_image_id")],
  [{ bound_iam_instance_profile_arn: ARN }, NOT_CHECKED("bound_iam_instance_profile_arn")],
  [{ bound_vm_instance_id: "i-1" }, NOT_CHECKED("bound_vm_instance_id")],
  [{ bound_iam_role_arn: ARN }, NOT_CHECKED("bound_iam_role_arn")],
  [{ bound_vpc_id: "vpc-1" }, NOT_CHECKED("bound_vpc_id")],
  [{ bound_subnet_id: "subnet-1" }, NOT_CHECKED("bound_subnet_id")],
  [{ disallow_reauthentication: true }, "specified disallow_reauthentication when not using vm auth type"],
  [{ allow_instance_migration: true }, "specified allow_instance_migration when not using vm auth type"],
  [{ token_type: "eternal" }, "invalid 'token_type' value"],
  [{ token_ttl: 20, token_max_ttl: 10 }, "'token_ttl' cannot be greater than 'token_max_ttl'"],
  [{ role_tag: "k" }, "tried to enable role_tag when not using vm auth method"],
];

it("a role of principals is written with false and empty values for what only instances have", () => {
  const empty = { disallow_reauthentication: false, allow_instance_migration: false, role_tag: "" };
  expect(write({ ...IAM, ...empty }).ok).toBe(true);
});

describe("a write of a role is refused", () => {
  describe.each([
    ["vm", VM, VM_SPOILERS],
    ["iam", IAM, IAM_SPOILERS],
  ] as const)("of the type %s", (_, base, spoilers) => {
    it.each(spoilers)("with %j", (fields, message) => expect(refusal({ ...base, ...fields })).toBe(message));

    it("for the first reason, whatever else is wrong", () => {
      fc.assert(
        fc.property(fc.subarray([...spoilers.keys()], { minLength: 2 }), (chosen) => {
          const body = Object.assign({}, base, ...chosen.map((index) => spoilers[index]?.[0]));
          expect(refusal(body)).toBe(spoilers[Math.min(...chosen)]?.[1]);
        }),
        { numRuns: 100 },
      );
    });
  });

  it.each<[Record<string, unknown>, string]>([
    [{}, "at least one bound parameter should be specified on the role"],
    [{ auth_type: "vm" }, "at least one bound parameter should be specified on the role"],
    [{ ...INFERRING }, "at least one bound parameter should be specified on the role"],
    [{ auth_type: "vm", bound_image_id: "," }, "at least one bound parameter should be specified on the role"],
    [{ auth_type: "vm,iam", bound_image_id: "x" }, "unrecognized auth_type"],
    [{ auth_type: "<b>", bound_image_id: "x" }, "unrecognized auth_type"],
    [
      { inferred_entity_type: "vm_instance", bound_image_id: "x" },
      "specified inferred_entity_type but not inferred_cloud_region",
    ],
    [{ ...VM, token_ttl: -1 }, 'error converting input for field "token_ttl": cannot provide negative value'],
    [{ ...VM, ttl: 20, token_max_ttl: 10 }, "ttl should be shorter than max ttl"],
    [{ ...VM, token_bound_cidrs: "10.0.0.0/8,here" }, "token_bound_cidrs: item 2 is not an address or a CIDR block"],
    [
      { ...VM, token_bound_cidrs: "10.0.0.0/8", token_strictly_bind_ip: true },
      "'token_strictly_bind_ip' conflicts with 'token_bound_cidrs'; set only one",
    ],
    [
      { ...VM, token_type: "batch", token_period: 1 },
      "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
    ],
    [
      { ...VM, token_type: "default-batch", token_num_uses: 1 },
      "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count",
    ],
    [{ ...VM, token_policies: ["a\u0000b"] }, "token_policies: policy name must not contain control characters"],
    [
      { ...VM, bound_image_id: ["ami-1", "x".repeat(3000)] },
      "bound_image_id: item 2 is too long or holds characters that no such name has",
    ],
    [{ ...VM, role_tag: "a\nb" }, "role_tag can't be the key of a tag"],
    [
      { ...INFERRING, bound_vpc_id: "v", inferred_cloud_region: "US!" },
      "inferred_cloud_region is not the name of a region",
    ],
  ])("%j is refused: %s", (body, message) => expect(refusal(body)).toBe(message));

  it.each(["*", "arn:aws:iam::1*", "arn:aws:iam::123456789012*", "*Admin*", "arn:*"])(
    "for the wildcard %s, which reaches into accounts of others",
    (arn) => {
      for (const [field, base] of [
        ["bound_iam_principal_arn", {}],
        ["bound_iam_role_arn", { auth_type: "vm" }],
        ["bound_iam_instance_profile_arn", { auth_type: "vm" }],
      ] as const) {
        expect(refusal({ ...base, [field]: [`${ARN}*`, arn] })).toContain(`${field}: item 2: a wildcard`);
      }
    },
  );
});

describe("a role", () => {
  it("has these values when little is said", () => {
    expect(CLOUD_ROLE_VIEW.show(written({ bound_iam_principal_arn: `${ARN}*` }))).toEqual({
      auth_type: "iam",
      bound_account_id: [],
      bound_image_id: [],
      bound_vm_instance_id: [],
      bound_iam_instance_profile_arn: [],
      bound_iam_principal_arn: [`${ARN}*`],
      bound_iam_principal_id: [],
      bound_iam_role_arn: [],
      bound_region: [],
      bound_subnet_id: [],
      bound_vpc_id: [],
      inferred_entity_type: "",
      inferred_cloud_region: "",
      resolve_cloud_unique_ids: true,
      role_id: "role-1",
      role_tag: "",
      allow_instance_migration: false,
      disallow_reauthentication: false,
      token_bound_cidrs: [],
      token_explicit_max_ttl: 0,
      token_max_ttl: 0,
      token_no_default_policy: false,
      token_num_uses: 0,
      token_period: 0,
      token_policies: [],
      token_strictly_bind_ip: false,
      token_ttl: 0,
      token_type: "default",
    });
  });

  it("can be bound by every field that its logins check", () => {
    for (const field of BOUND_FIELDS) {
      const value = field.endsWith("_arn") ? `${ARN}*` : "x";
      if (field === "bound_iam_principal_arn") expect(written({ [field]: value }).bounds).toEqual({ [field]: [value] });
      else {
        expect(written({ auth_type: "vm", [field]: value }).bounds).toEqual({ [field]: [value] });
        expect(written({ ...INFERRING, [field]: value }).bounds).toEqual({ [field]: [value] });
      }
    }
  });

  it("keeps what a later write does not name, its id and the key of its tags", () => {
    const before = written({ ...VM, bound_region: ["r1", "r2"], token_ttl: "10m", role_tag: "cap" });
    const after = written({ token_max_ttl: "1h" }, { before, fresh: { roleId: "other", sealedTagKey: "other" } });
    expect(after).toEqual({ ...before, token: { ...before.token, maxTtl: 3600 } });
  });

  it("gives up a list when an empty one or a null is sent, but not its last", () => {
    const before = written({ ...VM, bound_region: "r1" });
    for (const bound_region of [[], null]) {
      expect(written({ bound_region }, { before }).bounds.bound_region).toEqual([]);
    }
    expect(refusal({ bound_region: "", bound_image_id: "" }, { before })).toContain("at least one bound parameter");
  });

  it("does not take a null for a duration", () => {
    const before = written({ ...VM, token_ttl: "10m" });
    expect(written({ token_ttl: null }, { before }).token.ttl).toBe(600);
  });

  it("never changes its type", () => {
    const before = written(VM);
    expect(refusal({ auth_type: "iam" }, { before })).toBe("changing auth_type on a role is not allowed");
    expect(refusal({ auth_type: "smoke" }, { before })).toBe("changing auth_type on a role is not allowed");
    expect(written({ auth_type: "vm" }, { before })).toEqual(before);
  });

  it("warns of a maximum above that of the mount", () => {
    const result = write({ ...VM, token_max_ttl: "3h" });
    expect(result).toMatchObject({
      value: {
        warnings: [
          "Given max ttl of 10800 seconds greater than current mount/system default of 7200 seconds; max ttl will be capped at login time",
        ],
      },
    });
  });

  it.each(["service", "batch", "default", "default-service", "default-batch"])("can give %s tokens", (type) => {
    expect(written({ ...VM, token_type: type }).token.type).toBe(type);
    expect(written({ token_type: "" }, { before: written({ ...VM, token_type: type }) }).token.type).toBe("default");
  });
});

describe("principals of a role", () => {
  const exact = `${ARN}-exact`;
  const body = { bound_iam_principal_arn: [exact, `${ARN}/*`, exact] };

  it("are looked up once each, wildcards not at all", () => {
    expect(write(body)).toEqual({ ok: true, value: { kind: "unresolved", arns: [exact] } });
    expect(written(body, { resolved: { [exact]: "AROA1" } }).principalIds).toEqual(["AROA1"]);
    expect(written({ bound_iam_principal_arn: `${ARN}/*` }).principalIds).toEqual([]);
  });

  it("are looked up last, when nothing else refuses the write", () => {
    expect(refusal({ ...body, token_num_uses: -1 })).toBe("'token_num_uses' cannot be negative");
    expect(refusal({ ...body, role_tag: "k" })).toContain("tried to enable role_tag");
  });

  it("are looked up again when they are sent again, and else not", () => {
    const before = written(body, { resolved: { [exact]: "AROA1" } });
    expect(written({ token_ttl: 1 }, { before }).principalIds).toEqual(["AROA1"]);
    expect(write(body, { before })).toMatchObject({ value: { kind: "unresolved" } });
    expect(written(body, { before, resolved: { [exact]: "AROA2" } }).principalIds).toEqual(["AROA2"]);
  });

  it("are not looked up when that is turned off; it can be turned on, never off again", () => {
    const off = written({ ...body, resolve_cloud_unique_ids: false });
    expect(off.principalIds).toEqual([]);
    expect(write({ resolve_cloud_unique_ids: true }, { before: off })).toMatchObject({ value: { kind: "unresolved" } });
    const on = written({ resolve_cloud_unique_ids: true }, { before: off, resolved: { [exact]: "AROA1" } });
    expect(on.principalIds).toEqual(["AROA1"]);
    expect(refusal({ resolve_cloud_unique_ids: false }, { before: on })).toBe(
      "changing resolve_cloud_unique_ids from true to false is not allowed",
    );
  });

  it("does not take the name of a built-in for a looked-up ARN", () => {
    expect(write({ bound_iam_principal_arn: "constructor" })).toMatchObject({ value: { kind: "unresolved" } });
  });

  it("are bounded in number while each costs a call", () => {
    const many = Array.from({ length: 33 }, (_, index) => `${ARN}${index}`);
    expect(refusal({ bound_iam_principal_arn: many })).toContain("at most 32 principals");
    expect(refusal({ bound_iam_principal_arn: many, resolve_cloud_unique_ids: false })).toBeNull();
  });

  it("that can never match are warned of: a path, a session, something else", () => {
    const warningsFor = (arn: string) =>
      unmatchableWarnings(written({ bound_iam_principal_arn: arn, resolve_cloud_unique_ids: false })).length;
    expect(warningsFor(ARN)).toBe(0);
    expect(warningsFor(`${ARN}/*`)).toBe(0);
    expect(warningsFor("arn:aws:iam::123456789012:role/path/app")).toBe(1);
    expect(warningsFor("arn:aws:sts::123456789012:assumed-role/app/x")).toBe(1);
    expect(warningsFor("nonsense")).toBe(1);
  });
});

describe("settings with a deprecated name", () => {
  const shown = (role: CloudRole) => {
    const { policies, ttl, max_ttl, period } = CLOUD_ROLE_VIEW.show(role);
    return { policies, ttl, max_ttl, period };
  };
  const old = { policies: "b,A,b", ttl: 10, max_ttl: "20s", period: "5s" };

  it("by the old name alone count under both", () => {
    const role = written({ ...VM, ...old });
    expect(role.token).toMatchObject({ policies: ["a", "b"], ttl: 10, maxTtl: 20, period: 5 });
    expect(shown(role)).toEqual({ policies: ["a", "b"], ttl: 10, max_ttl: 20, period: 5 });
  });

  it("by both names have the value of the new one under both", () => {
    const both = { ...old, token_policies: "c", token_ttl: 1, token_max_ttl: 2, token_period: 3 };
    const role = written({ ...VM, ...both });
    expect(role.token).toMatchObject({ policies: ["c"], ttl: 1, maxTtl: 2, period: 3 });
    expect(shown(role)).toEqual({ policies: ["c"], ttl: 1, max_ttl: 2, period: 3 });
  });

  it("by the new name alone lose the old one; a write of something else changes neither", () => {
    const before = written({ ...VM, ...old });
    expect(shown(written({ token_num_uses: 1 }, { before }))).toEqual(shown(before));
    const role = written({ token_policies: "c", token_ttl: 1, token_max_ttl: 2, token_period: 3 }, { before });
    expect(shown(role)).toEqual({});
  });

  it("are not shown under the old name when they are 0", () => {
    expect(shown(written({ ...VM, ttl: 0, max_ttl: 0, period: 0, policies: "" }))).toEqual({ policies: [] });
  });
});
