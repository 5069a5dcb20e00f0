import { describe, expect, it } from "vitest";
import { TOKEN_ROLE_VIEW } from "../../../../src/api/token/roles.ts";
import { TOKEN_ROLE_FIELDS, type TokenRole } from "../../../../src/token/role.ts";
import { changeTokenRole, newRole, type TokenRoleChange } from "../../../../src/token/roles/change-role.ts";
import { readFields } from "../../../../src/wire/field-schema.ts";

const MOUNT = { defaultSeconds: 3600, maxSeconds: 18_000 };

/** Applies bodies one after the other, each read as the endpoint reads it. */
function write(...bodies: Record<string, unknown>[]): TokenRoleChange {
  let change: TokenRoleChange = { role: newRole("test"), warnings: [] };
  for (const body of bodies) {
    const done = tryWrite(body, change.role);
    if (typeof done === "string") throw new Error(done);
    change = done;
  }
  return change;
}

function tryWrite(body: Record<string, unknown>, before: TokenRole = newRole("test")): TokenRoleChange | string {
  const fields = readFields(TOKEN_ROLE_FIELDS, body);
  const done = fields.ok ? changeTokenRole(before, fields.value.values, MOUNT) : fields;
  if (done.ok) return done.value;
  return done.error.code === "invalid_request" ? done.error.message : done.error.code;
}

const read = (...bodies: Record<string, unknown>[]) => TOKEN_ROLE_VIEW.show(write(...bodies).role);

describe("writes and reads", () => {
  it("a new role reads with every default", () => {
    expect(read({})).toEqual({
      name: "test",
      allowed_entity_aliases: [],
      allowed_policies: [],
      allowed_policies_glob: [],
      disallowed_policies: [],
      disallowed_policies_glob: [],
      explicit_max_ttl: 0,
      orphan: false,
      path_suffix: "",
      period: 0,
      renewable: true,
      token_explicit_max_ttl: 0,
      token_no_default_policy: false,
      token_period: 0,
      token_type: "default-service",
    });
  });

  it("a second write changes what it names and nothing else", () => {
    const first = {
      allowed_policies: "Test1, test2",
      disallowed_policies: ["no"],
      allowed_policies_glob: "a*",
      disallowed_policies_glob: "b*",
      allowed_entity_aliases: "Web-*,DB",
      orphan: true,
      renewable: false,
      path_suffix: "happenin",
      token_bound_cidrs: "10.0.0.0/8,127.0.0.1/32",
      token_explicit_max_ttl: "1h",
      token_period: "30m",
      token_num_uses: 7,
      token_no_default_policy: true,
      token_type: "service",
    };
    const whole = read(first);
    expect(whole).toEqual({
      name: "test",
      allowed_policies: ["test1", "test2"],
      disallowed_policies: ["no"],
      allowed_policies_glob: ["a*"],
      disallowed_policies_glob: ["b*"],
      allowed_entity_aliases: ["db", "web-*"],
      orphan: true,
      renewable: false,
      path_suffix: "happenin",
      token_bound_cidrs: ["10.0.0.0/8", "127.0.0.1"],
      token_explicit_max_ttl: 3600,
      explicit_max_ttl: 0,
      token_period: 1800,
      period: 0,
      token_num_uses: 7,
      token_no_default_policy: true,
      token_type: "service",
    });
    expect(read(first, {})).toEqual(whole);
    for (const [field, value] of Object.entries(first)) {
      expect(read(first, { [field]: value }), field).toEqual(whole);
    }
    expect(read(first, { renewable: true })).toEqual({ ...whole, renewable: true });
    expect(read(first, { allowed_policies: ["x"] })).toEqual({ ...whole, allowed_policies: ["x"] });
  });

  it("null counts as absent: the role keeps its value, but a list is emptied", () => {
    const full = {
      token_period: "1h",
      token_explicit_max_ttl: "2h",
      renewable: true,
      orphan: true,
      path_suffix: "happenin",
      token_bound_cidrs: ["127.0.0.1/32"],
      token_num_uses: 3,
      allowed_policies: "a",
      allowed_entity_aliases: "b",
    };
    const nulls = Object.fromEntries(Object.keys(full).map((field) => [field, null]));
    const lists = { token_bound_cidrs: [], allowed_policies: [], allowed_entity_aliases: [] };
    expect(read(full, { ...nulls, token_type: null })).toEqual(read({ ...full, ...lists }));
  });

  it("zeros and empty values clear", () => {
    const full = {
      period: "1h",
      explicit_max_ttl: "5",
      path_suffix: "happenin",
      bound_cidrs: ["127.0.0.1/32"],
      token_num_uses: 3,
      allowed_policies: "a",
    };
    expect(read(full)).toMatchObject({ period: 3600, explicit_max_ttl: 5, token_explicit_max_ttl: 5 });
    const cleared = read(full, {
      period: "0s",
      path_suffix: "",
      bound_cidrs: [],
      token_num_uses: 0,
      allowed_policies: "",
      allowed_entity_aliases: "",
      explicit_max_ttl: 0,
    });
    expect(cleared).toEqual(read({}));
  });

  it("root stands beside other disallowed names, and alone among allowed ones", () => {
    expect(read({ disallowed_policies: "root,testpolicy", disallowed_policies_glob: "root,t*" })).toMatchObject({
      disallowed_policies: ["root", "testpolicy"],
      disallowed_policies_glob: ["root", "t*"],
    });
    expect(read({ allowed_policies: "ROOT ,x", allowed_policies_glob: "a*,root" })).toMatchObject({
      allowed_policies: ["root"],
      allowed_policies_glob: ["root"],
    });
  });
});

describe("fields with a deprecated name", () => {
  const old = { period: 5, bound_cidrs: ["127.0.0.1"], explicit_max_ttl: 7 };
  const current = { token_period: 6, token_bound_cidrs: ["127.0.0.2"], token_explicit_max_ttl: 8 };

  it("the old name alone shows in both", () => {
    expect(read(old)).toMatchObject({
      ...old,
      token_period: 5,
      token_bound_cidrs: ["127.0.0.1"],
      token_explicit_max_ttl: 7,
    });
  });

  it("a write of something else leaves it so", () => {
    expect(read(old, { orphan: true })).toEqual({ ...read(old), orphan: true });
    expect(read(current, { orphan: true })).toEqual({ ...read(current), orphan: true });
  });

  it("the new name alone shows in the new one only", () => {
    const shown = read(current);
    expect(shown).toMatchObject({ ...current, period: 0, explicit_max_ttl: 0 });
    expect(shown).not.toHaveProperty("bound_cidrs");
    expect(read(old, current)).toEqual(shown);
  });

  it("of both the new one counts, with one warning each", () => {
    const both = write({ ...old, ...current });
    expect(TOKEN_ROLE_VIEW.show(both.role)).toEqual(read(current));
    expect([...both.warnings].sort()).toEqual(
      ["bound_cidrs", "explicit_max_ttl", "period"].map(
        (field) => `Both 'token_${field}' and deprecated '${field}' value supplied, ignoring the deprecated value`,
      ),
    );
  });

  it("the old name after the new one shows in both again", () => {
    expect(read(current, { period: 9 })).toMatchObject({ period: 9, token_period: 9, explicit_max_ttl: 0 });
  });
});

describe("refusals", () => {
  const SUFFIX = "given role path suffix contains invalid characters; must match \\w[\\w-.]+\\w";
  const BATCH = "'token_type' cannot be 'batch' when role is set to generate";
  const batch = { token_type: "batch", orphan: true, renewable: false };

  it.each<[Record<string, unknown>, string]>([
    [{ path_suffix: "ab" }, SUFFIX],
    [{ path_suffix: "!!!" }, SUFFIX],
    [{ path_suffix: "abc\ndef" }, SUFFIX],
    [{ path_suffix: "abc/../def" }, "error registering path suffix: path cannot contain parent references"],
    [{ path_suffix: "a".repeat(257) }, "path_suffix must not be longer than 256 characters"],
    [{ token_type: "" }, "invalid 'token_type' value"],
    [{ token_type: "other" }, "invalid 'token_type' value"],
    [{ token_type: 5 }, "invalid 'token_type' value"],
    [
      { token_type: { a: 1 } },
      'Field validation failed: error converting input for field "token_type": expected a string',
    ],
    [{ token_num_uses: -1 }, "error parsing role fields: 'token_num_uses' cannot be negative"],
    [
      { token_period: "-5s" },
      'Field validation failed: error converting input for field "token_period": cannot provide negative value',
    ],
    [
      { explicit_max_ttl: -5 },
      'Field validation failed: error converting input for field "explicit_max_ttl": cannot provide negative value',
    ],
    [
      { token_bound_cidrs: "127.0.0.1,secret" },
      "error parsing role fields: token_bound_cidrs: item 2 is not an address or a CIDR block",
    ],
    [{ bound_cidrs: "secret" }, "error parsing bound_cidrs: item 1 is not an address or a CIDR block"],
    [
      { bound_cidrs: Array.from({ length: 129 }, () => "127.0.0.1") },
      "error parsing bound_cidrs: more than 128 networks",
    ],
    [{ allowed_policies: ["a".repeat(257)] }, "allowed_policies: policy name must not be longer than 256 characters"],
    [
      { disallowed_policies_glob: "a\u0000*" },
      "disallowed_policies_glob: policy name must not contain control characters",
    ],
    [
      { allowed_entity_aliases: Array.from({ length: 400 }, (_, i) => `${i}${"a".repeat(200)}`) },
      "the role is too large",
    ],
    [{ ...batch, orphan: false }, `${BATCH} non-orphan tokens`],
    [{ ...batch, token_period: 5 }, `${BATCH} periodic tokens`],
    [{ ...batch, renewable: true }, `${BATCH} renewable tokens`],
    [{ ...batch, explicit_max_ttl: 5 }, `${BATCH} tokens with an explicit max TTL`],
    [{ ...batch, token_num_uses: 5 }, `${BATCH} tokens with limited use count`],
  ])("%j is refused", (body, message) => {
    expect(tryWrite(body)).toBe(message);
  });

  it("a batch role does not become what a batch role can't be by a later write", () => {
    const stored = write(batch).role;
    expect(tryWrite({ token_period: 5 }, stored)).toBe(`${BATCH} periodic tokens`);
    expect(tryWrite({ token_num_uses: 5 }, stored)).toBe(`${BATCH} tokens with limited use count`);
    expect(tryWrite({ orphan: false }, stored)).toBe(`${BATCH} non-orphan tokens`);
    expect(tryWrite({ renewable: true }, stored)).toBe(`${BATCH} renewable tokens`);
  });

  it.each([
    { token_period: 5 },
    { token_num_uses: 5 },
    { token_explicit_max_ttl: 5 },
    { renewable: true, orphan: false },
  ])("none for a role that gives batch tokens only when the client asks for no other type: %j", (limits) => {
    expect(read({ token_type: "default-batch", ...limits })).toMatchObject(limits);
    expect(read({ token_type: "default-batch", token_period: 9 }, limits)).toMatchObject(limits);
  });

  it.each<Record<string, unknown>>([
    { path_suffix: "a".repeat(256) },
    { bound_cidrs: Array.from({ length: 128 }, () => "127.0.0.1") },
    { allowed_policies: ["a".repeat(256)] },
  ])("none at a bound: row %#", (body) => {
    expect(tryWrite(body)).toHaveProperty("role");
  });

  it("a name that is too long", () => {
    expect(tryWrite({}, newRole("a".repeat(128)))).toHaveProperty("role");
    expect(tryWrite({}, newRole("a".repeat(129)))).toBe("role name must not be longer than 128 characters");
  });

  it.each(["service", "batch", "default", "default-service", "default-batch"])("takes the type %s", (token_type) => {
    expect(read({ ...batch, token_type })).toMatchObject({ token_type });
  });

  it.each(["happenin", "v1-eu", "a.b", "ab_"])("takes the suffix %s", (path_suffix) => {
    expect(read({ path_suffix })).toMatchObject({ path_suffix });
  });
});

it("an explicit maximum above the mount's is kept, with a warning", () => {
  const { role, warnings } = write({ token_explicit_max_ttl: "100h" });
  expect(role.tokenExplicitMaxTtl).toBe(360_000);
  expect(warnings).toEqual([
    "Given explicit max TTL of 360000 is greater than system/mount allowed value of 18000 seconds; until this is fixed attempting to create tokens against this role will result in an error",
  ]);
  expect(write({ token_explicit_max_ttl: "5h" }).warnings).toEqual([]);
  expect(write({ token_explicit_max_ttl: "100h" }, { orphan: true }).warnings).toEqual([]);
  expect(write({ explicit_max_ttl: "100h" }, { orphan: true }).warnings).toHaveLength(1);
});
