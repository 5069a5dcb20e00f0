import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_TOKEN_SETTINGS } from "../../../../../src/auth/token-settings.ts";
import type { CloudRole } from "../../../../../src/methods/aws/rules/role.ts";
import { narrowByTag } from "../../../../../src/methods/aws/rules/role-grant.ts";
import {
  canonicalPolicies,
  isSubsetOfRole,
  newTagNonce,
  type RoleTag,
  readTagValue,
  signRoleTag,
  tagValueOfPath,
  verifyRoleTag,
} from "../../../../../src/methods/aws/rules/role-tag.ts";

const key = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
const nonce = "AAECAwQFBgc=";

const plain: RoleTag = {
  nonce,
  role: "web",
  policies: null,
  maxTtlSeconds: 0,
  instanceId: null,
  allowInstanceMigration: false,
  disallowReauthentication: false,
};
const full: RoleTag = {
  ...plain,
  policies: ["dev", "prod"],
  maxTtlSeconds: 3600,
  instanceId: "i-0123456789abcdef0",
  disallowReauthentication: true,
};

/** A value as any maker of the format would sign it, in whatever spelling. */
const seal = (text: string) => `${text}:${createHmac("sha256", key).update(text).digest("base64")}`;

async function verify(value: string, withKey = key): Promise<RoleTag | string> {
  const read = readTagValue(value);
  const result = read.ok ? await verifyRoleTag(read.value, withKey) : read;
  if (result.ok) return result.value;
  return "message" in result.error ? result.error.message : result.error.code;
}

async function signed(tag: RoleTag): Promise<string> {
  const result = await signRoleTag(tag, key);
  if (result.ok) return result.value;
  return "message" in result.error ? result.error.message : result.error.code;
}

describe("the tag format", () => {
  it.each([
    [plain, `v1:${nonce}:r=web:d=false:m=false`],
    [full, `v1:${nonce}:r=web:d=true:m=false:p=dev,prod:i=i-0123456789abcdef0:t=3600`],
    [{ ...plain, allowInstanceMigration: true, maxTtlSeconds: 60 }, `v1:${nonce}:r=web:d=false:m=true:t=60`],
    [{ ...plain, instanceId: "i-1" }, `v1:${nonce}:r=web:d=false:m=false:i=i-1`],
    [{ ...plain, policies: ["prod"] }, `v1:${nonce}:r=web:d=false:m=false:p=prod`],
  ] as const)("is the usual one: %#", async (tag, text) => {
    expect(await signed(tag)).toBe(seal(text));
    expect(await verify(seal(text))).toEqual(tag);
  });

  it("fails under another role's key", async () => {
    expect(await verify(await signed(full), crypto.randomUUID())).toBe("role tag signature verification failed");
  });

  it("an empty policy list is not the same as none", async () => {
    const none = await signed({ ...plain, policies: [] });
    expect(none).toBe(seal(`v1:${nonce}:r=web:d=false:m=false:p=`));
    expect(await verify(none)).toMatchObject({ policies: [] });
    expect(await verify(await signed(plain))).toMatchObject({ policies: null });
  });

  it("makes another value each time", async () => {
    expect(newTagNonce()).toHaveLength(12);
    expect(newTagNonce()).not.toBe(newTagNonce());
  });
});

describe("a tag spelled in another way is refused, though its signature is right", () => {
  const head = `v1:${nonce}`;
  it.each([
    ["items reordered", `${head}:d=false:r=web:m=false`],
    ["the last items reordered", `${head}:r=web:d=false:m=false:t=60:p=prod`],
    ["d=0", `${head}:r=web:d=0:m=false`],
    ["d=F", `${head}:r=web:d=F:m=false`],
    ["m=1", `${head}:r=web:d=false:m=1`],
    ["a repeated item", `${head}:r=web:r=web:d=false:m=false`],
    ["another role first", `${head}:r=admin:r=web:d=false:m=false`],
    ["an item left out", `${head}:r=web:d=false`],
    ["t=60.5", `${head}:r=web:d=false:m=false:t=60.5`],
    ["t=060", `${head}:r=web:d=false:m=false:t=060`],
    ["t=6e1", `${head}:r=web:d=false:m=false:t=6e1`],
    ["t=0", `${head}:r=web:d=false:m=false:t=0`],
    ["t=-60", `${head}:r=web:d=false:m=false:t=-60`],
    ["t=1m", `${head}:r=web:d=false:m=false:t=1m`],
    ["t=", `${head}:r=web:d=false:m=false:t=`],
    ["a huge t", `${head}:r=web:d=false:m=false:t=99999999999999999999`],
    ["i=", `${head}:r=web:d=false:m=false:i=`],
    ["an upper-case role", `${head}:r=Web:d=false:m=false`],
    ["no role", `${head}:d=false:m=false`],
    ["an empty role", `${head}:r=:d=false:m=false`],
    ["a space", `${head}:r=web :d=false:m=false`],
    ["a space before an item", `${head}: r=web:d=false:m=false`],
    ["unsorted policies", `${head}:r=web:d=false:m=false:p=prod,dev`],
    ["a repeated policy", `${head}:r=web:d=false:m=false:p=dev,dev`],
    ["an empty policy", `${head}:r=web:d=false:m=false:p=dev,`],
    ["an upper-case policy", `${head}:r=web:d=false:m=false:p=Dev`],
    ["an upper-case instance", `${head}:r=web:d=false:m=false:i=I-1`],
    ["both flags", `${head}:r=web:d=true:m=true`],
    ["an unknown item", `${head}:r=web:d=false:m=false:x=1`],
    ["an empty item", `${head}:r=web:d=false:m=false:`],
    ["another version", `v2:${nonce}:r=web:d=false:m=false`],
    ["no nonce", "v1::r=web:d=false:m=false"],
    ["a nonce without padding", "v1:AAECAwQFBgc:r=web:d=false:m=false"],
    ["a nonce with stray bits", "v1:AAECAwQFBgd=:r=web:d=false:m=false"],
    ["a nonce of another length", "v1:AAECAwQF:r=web:d=false:m=false"],
  ])("%s: refused", async (_, text) => {
    expect(await verify(seal(text))).toMatch(/^(role tag is not|invalid|unrecognized item|missing role name)/);
  });

  it("a signature in another spelling", async () => {
    const value = await signed(plain);
    for (const other of [value.replace(/=$/, ""), `${value}\n`, ` ${value}`, value.replace(/.=$/, "/="), `${value}=`]) {
      expect(typeof (await verify(other))).toBe("string");
    }
  });
});

const tags = fc
  .record({
    nonce: fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    role: fc.stringMatching(/^[a-z0-9_][a-z0-9_.-]{0,20}$/),
    policies: fc.option(fc.array(fc.stringMatching(/^[a-z0-9/_-]{1,10}$/), { maxLength: 4 }).map(canonicalPolicies)),
    maxTtlSeconds: fc.nat({ max: 9_999_999 }),
    instanceId: fc.option(fc.stringMatching(/^i-[0-9a-f]{8,17}$/)),
    allowInstanceMigration: fc.boolean(),
    disallowReauthentication: fc.boolean(),
  })
  .map(
    (tag): RoleTag => ({
      ...tag,
      disallowReauthentication: tag.disallowReauthentication && !tag.allowInstanceMigration,
    }),
  );

describe("any tag", () => {
  it("reads back as it was made", async () => {
    await fc.assert(
      fc.asyncProperty(tags, async (tag) => {
        expect(await verify(await signed(tag))).toEqual(tag);
      }),
      { numRuns: 300 },
    );
  });

  it("is refused with one character changed, dropped or added", async () => {
    const characters = fc.stringMatching(/^[ -~]$/);
    await fc.assert(
      fc.asyncProperty(tags, fc.nat(), characters, async (tag, where, character) => {
        const value = await signed(tag);
        const at = where % value.length;
        const tail = value.slice(at + 1);
        const others = [value.slice(0, at) + character + tail, value.slice(0, at) + tail];
        others.push(value.slice(0, at) + character + value.slice(at));
        for (const other of others) {
          if (other !== value) expect(typeof (await verify(other))).toBe("string");
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is refused with any byte changed, at every position", async () => {
    const value = await signed(full);
    for (let at = 0; at < value.length; at++) {
      for (const character of ["A", "0", ":", "=", ",", "\u0000"]) {
        const other = value.slice(0, at) + character + value.slice(at + 1);
        if (other !== value) expect(typeof (await verify(other))).toBe("string");
      }
    }
  });

  it("is read without an exception, whatever it holds", async () => {
    const text = fc.oneof(
      fc.string(),
      fc.string().map((part) => seal(`v1:${nonce}:${part}`)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        expect(typeof (await verify(value))).toBe("string");
      }),
      { numRuns: 500 },
    );
  });
});

describe("making a tag", () => {
  it("refuses more than 255 characters", async () => {
    const room = 255 - (await signed({ ...plain, policies: [] })).length;
    expect(await signed({ ...plain, policies: ["p".repeat(room)] })).toHaveLength(255);
    expect(await signed({ ...plain, policies: ["p".repeat(room + 1)] })).toBe(
      "role tag 'value' exceeding the limit of 255 characters",
    );
    expect(await verify(seal(`v1:${nonce}:r=web:d=false:m=false:p=${"p".repeat(room + 1)}`))).toBe("invalid tag");
  });

  it("refuses what would break the format", async () => {
    for (const tag of [
      { ...plain, role: "a:b" },
      { ...plain, role: "Web" },
      { ...plain, role: "" },
      { ...plain, policies: ["a:b"] },
      { ...plain, policies: ["a,b"] },
      { ...plain, policies: ["b", "a"] },
      { ...plain, policies: [""] },
      { ...plain, policies: ["p\u00e9"] },
      { ...plain, instanceId: "i-1:t=9" },
      { ...plain, instanceId: "" },
      { ...plain, maxTtlSeconds: 1.5 },
      { ...plain, maxTtlSeconds: -1 },
      { ...plain, maxTtlSeconds: Number.NaN },
      { ...plain, allowInstanceMigration: true, disallowReauthentication: true },
    ]) {
      expect((await signRoleTag(tag, key)).ok).toBe(false);
    }
  });

  it("brings policies to the one form that a tag holds", () => {
    expect(canonicalPolicies([" Prod", "dev", "PROD", ""])).toEqual(["dev", "prod"]);
  });
});

describe("the value in a deny list path", () => {
  it("may be the tag or its base64", async () => {
    const value = await signed(full);
    expect(tagValueOfPath(value)).toBe(value);
    expect(tagValueOfPath(Buffer.from(value).toString("base64"))).toBe(value);
    expect(tagValueOfPath("hello")).toBe("hello");
  });
});

describe("a genuine tag at a login", () => {
  const login = { role: "web", rolePolicies: ["Dev", "prod", "ops"], instanceId: "i-0123456789abcdef0" };
  const tagRefusal = (tag: RoleTag, { rolePolicies, ...of }: typeof login): string | null => {
    const role: CloudRole = {
      roleId: "id",
      sealedTagKey: "",
      authType: "vm",
      bounds: {},
      principalIds: [],
      resolveUniqueIds: true,
      inferredEntityType: "",
      inferredRegion: "",
      roleTag: "Tag",
      allowInstanceMigration: true,
      disallowReauthentication: false,
      token: { ...DEFAULT_TOKEN_SETTINGS, policies: rolePolicies },
    };
    const narrowed = narrowByTag(role, tag, of);
    return narrowed.ok ? null : narrowed.error;
  };

  it("fits its role, its instance and policies that the role has", () => {
    expect(tagRefusal(full, login)).toBeNull();
    expect(tagRefusal(plain, { ...login, instanceId: "i-9" })).toBeNull();
    expect(tagRefusal({ ...plain, policies: [] }, { ...login, rolePolicies: [] })).toBeNull();
  });

  it("is refused otherwise", () => {
    expect(tagRefusal(full, { ...login, role: "other" })).toMatch(/role on the tag/);
    expect(tagRefusal(full, { ...login, instanceId: "i-9" })).toMatch(/unauthorized instance/);
    expect(tagRefusal(full, { ...login, rolePolicies: ["dev"] })).toMatch(/subset/);
  });

  it("compares names without regard to case", () => {
    expect(isSubsetOfRole(["PROD"], ["prod"])).toBe(true);
    expect(isSubsetOfRole(["prod", "root"], ["prod"])).toBe(false);
    expect(tagRefusal(full, { ...login, instanceId: "I-0123456789ABCDEF0" })).toBeNull();
  });
});
