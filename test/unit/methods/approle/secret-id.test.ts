import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changeAppRole } from "../../../../src/methods/approle/role.ts";
import {
  hasEnded,
  metadataField,
  planSecretId,
  type SecretIdFields,
} from "../../../../src/methods/approle/secret-id.ts";
import {
  firstShardAfter,
  newAccessor,
  SECRET_ID_SHARDS,
  shardOfAccessor,
} from "../../../../src/methods/approle/secret-id-shards.ts";
import { afterUse, excludingList, tokenNetworks } from "../../../../src/methods/approle/secret-id-use.ts";
import { addressAllowed, networksInBoth, networksWithin } from "../../../../src/token/rules/bound-cidrs.ts";

const NOW = Date.parse("2026-11-01T10:00:00Z");
const MOUNT = { defaultSeconds: 3600, maxSeconds: 7200 };
const IDS = { id: "r", roleId: "role" };

function role(fields: Parameters<typeof changeAppRole>[1] = {}) {
  const changed = changeAppRole(null, fields, IDS, MOUNT);
  if (!changed.ok) throw new Error(JSON.stringify(changed.error));
  return changed.value.role;
}

const NO_FIELDS: SecretIdFields = {
  metadata: {},
  cidr_list: [],
  token_bound_cidrs: [],
  num_uses: undefined,
  ttl: undefined,
};
const plan = (of: ReturnType<typeof role>, fields: Partial<SecretIdFields> = {}) =>
  planSecretId(of, { ...NO_FIELDS, ...fields }, "accessor", MOUNT, NOW);

describe("a new secret-id", () => {
  it("never has more uses than its role, nor a longer life than its role and mount", () => {
    const limit = fc.nat(20);
    fc.assert(
      fc.property(limit, limit, fc.option(limit), fc.option(limit), (uses, hours, numUses, ttl) => {
        const of = role({ secret_id_num_uses: uses, secret_id_ttl: hours * 600 });
        const planned = plan(of, { num_uses: numUses ?? undefined, ttl: ttl === null ? undefined : ttl * 600 });
        if (!planned.ok) return;
        const { usesLeft, expiresAt, ttl: given } = planned.value;
        if (uses > 0) expect(usesLeft >= 1 && usesLeft <= uses).toBe(true);
        if (hours > 0) expect(given >= 1 && given <= hours * 600).toBe(true);
        expect(given).toBeLessThanOrEqual(MOUNT.maxSeconds);
        expect(expiresAt).toBe(given === 0 ? null : NOW + given * 1000);
      }),
    );
  });

  it("is used as often as it has uses, and then is gone", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), (uses) => {
        const planned = plan(role(), { num_uses: uses });
        let current = planned.ok ? planned.value : null;
        let logins = 0;
        for (; current !== null; logins++) current = afterUse(current, NOW);
        expect(logins).toBe(uses);
      }),
    );
  });

  it("has ended from its end on", () => {
    const planned = plan(role(), { ttl: 1 });
    if (!planned.ok) throw new Error("it is planned");
    expect([hasEnded(planned.value, NOW + 999), hasEnded(planned.value, NOW + 1000)]).toEqual([false, true]);
    expect(hasEnded({ expiresAt: null }, Number.MAX_SAFE_INTEGER)).toBe(false);
  });

  it("excludes clients by its own networks, then by those of its tokens, else by those of the role", () => {
    const planned = plan(role(), { cidr_list: ["192.0.2.0/24"], token_bound_cidrs: ["192.0.2.9"] });
    const bare = plan(role());
    if (!planned.ok || !bare.ok) throw new Error("they are planned");
    const ofRole = ["198.51.100.0/24"];
    const by = (address: string | null, tokenCidrs: string[], one = planned.value) =>
      excludingList(one, { address, tokenCidrs });
    expect(["192.0.2.9", "192.0.2.8", "198.51.100.9", null].map((address) => by(address, []))).toEqual([
      ...[null, "token_bound_cidrs", "cidr_list", "cidr_list"],
    ]);
    expect(["198.51.100.9", "192.0.2.9", null].map((address) => by(address, ofRole, bare.value))).toEqual([
      ...[null, "token_bound_cidrs", "token_bound_cidrs"],
    ]);
    expect([by("192.0.2.9", ["192.0.0.0/16"]), by("192.0.2.9", ofRole)]).toEqual([null, "token_bound_cidrs"]);
  });

  it("gives tokens only the networks that it has in common with its role, however the role was changed since", () => {
    const made = plan(role(), { token_bound_cidrs: ["192.0.2.0/24", "2001:db8::1"] });
    if (!made.ok) throw new Error("it is planned");
    const bound = (ofRole: string[]) => tokenNetworks(made.value, ofRole);
    expect(bound([])).toEqual(["192.0.2.0/24", "2001:db8::1"]);
    expect(bound(["192.0.2.0/25", "192.0.2.200", "10.0.0.0/8"])).toEqual(["192.0.2.0/25", "192.0.2.200"]);
    expect(bound(["192.0.0.0/16"])).toEqual(["192.0.2.0/24"]);
    expect(bound(["10.0.0.0/8"])).toBeNull();
  });
});

describe("networks", () => {
  it.each([
    [[], ["192.0.2.0/24"], true],
    [["192.0.2.0/25"], ["192.0.2.0/24"], true],
    [["192.0.2.7"], ["198.51.100.0/24", "192.0.2.0/24"], true],
    [["192.0.2.0/23"], ["192.0.2.0/24"], false],
    [["192.0.2.7", "198.51.100.7"], ["192.0.2.0/24"], false],
    [["0.0.0.0/0"], [], true],
    [["2001:db8::/33"], ["2001:db8::/32"], true],
    [["2001:db8::/31"], ["2001:db8::/32"], false],
    [["::/0"], ["0.0.0.0/0"], false],
  ])("%j are parts of %j: %s", (inner, outer, within) => {
    expect(networksWithin(inner, outer)).toBe(within);
  });

  it("in common to two lists have the addresses that are in both, and no others", () => {
    const cidr = fc
      .tuple(fc.nat(15), fc.integer({ min: 28, max: 32 }))
      .map(([host, bits]) => `192.0.2.${host}/${bits}`);
    const cidrs = fc.array(cidr, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(cidrs, cidrs, fc.nat(15), (one, other, host) => {
        const address = `192.0.2.${host}`;
        const common = networksInBoth(one, other);
        const inCommon = common.length > 0 && addressAllowed(common, address);
        expect(inCommon).toBe(addressAllowed(one, address) && addressAllowed(other, address));
      }),
    );
  });
});

describe("metadata", () => {
  it.each([
    [undefined, {}],
    ["", {}],
    ["a=b, c = d=e", { a: "b", c: "d=e" }],
    ['{"a":"b"}', { a: "b" }],
    [{ a: "b" }, { a: "b" }],
    ['{"a":1}', null],
    ["{", null],
    ["a", null],
    ["=b", null],
    [["a=b"], null],
    [{ a: { b: "c" } }, null],
    [null, null],
  ])("%j is read as %j", (value, expected) => {
    const read = metadataField().read(value);
    expect(read.ok ? read.value : null).toEqual(expected);
  });
});

describe("accessors", () => {
  it("name their shards, in the order of the shards", () => {
    for (let shard = 0; shard < SECRET_ID_SHARDS; shard++) {
      const accessor = newAccessor(shard);
      expect(shardOfAccessor(accessor)).toBe(shard);
      expect(firstShardAfter(accessor)).toBe(shard);
    }
    expect([shardOfAccessor(""), shardOfAccessor("absent"), shardOfAccessor(`g${newAccessor(0).slice(1)}`)]).toEqual([
      ...[null, null, null],
    ]);
  });

  it("after any text are in no shard before the first that is asked", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(SECRET_ID_SHARDS - 1), (after, shard) => {
        const accessor = newAccessor(shard);
        if (accessor > after) expect(firstShardAfter(after)).toBeLessThanOrEqual(shard);
      }),
    );
  });
});
