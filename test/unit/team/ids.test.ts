import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { base62Digest, hasNoLookalikes, randomBase58, randomBase62, randomText } from "../../../src/crypto/base62.ts";
import { importKeys, type Keys, keyedHash, newKeyRing, withNewTerm } from "../../../src/crypto/key-ring.ts";
import {
  isHolderRoute,
  newHolderId,
  newTeamId,
  newTeamToken,
  newTokenId,
  readTeamId,
  readTeamToken,
  readTokenId,
  teamRoute,
  userIdOf,
} from "../../../src/team/ids.ts";

let keys: Keys;
let others: Keys;

beforeAll(async () => {
  keys = await importKeys(newKeyRing(0));
  others = await importKeys(newKeyRing(0));
});

describe("base62", () => {
  it("digests keep the low end of the bytes, at exactly the asked length", () => {
    expect(base62Digest(new Uint8Array([0]), 3)).toBe("000");
    expect(base62Digest(new Uint8Array([61]), 3)).toBe("00z");
    expect(base62Digest(new Uint8Array([62]), 3)).toBe("010");
    expect(base62Digest(new Uint8Array(8).fill(255), 11)).toBe("LygHa16AHYF");
    expect(base62Digest(new Uint8Array(8).fill(255), 4)).toBe("AHYF");
  });

  it("random texts have the asked length and use every character about equally often", () => {
    const text = randomBase62(62_000);
    expect(text).toMatch(/^[0-9A-Za-z]{62000}$/);
    const counts = new Map<string, number>();
    for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // 1,000 each; without drawing anew the first eight characters would come up 1,210 times.
    for (const char of "01234567") expect(counts.get(char)).toBeLessThan(1180);
  });
});

describe("random texts of another alphabet", () => {
  it("have its characters alone, each about equally often", () => {
    // 256 is no multiple of 20: without a rejection the first 16 would come up a twelfth more often.
    const text = randomText("BCDFGHJKLMNPQRSTVWXZ", 60_000);
    expect(text).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{60000}$/);
    const early = [...text].filter((char) => "BCDFGHJKLMNPQRST".includes(char)).length;
    expect(Math.abs(early - 48_000)).toBeLessThan(500);
    expect([randomText("a", 3), randomText("ab", 0)]).toEqual(["aaa", ""]);
  });
});

describe("base58", () => {
  it("random texts have the asked length and none of the characters that look alike", () => {
    const text = randomBase58(58_000);
    expect(text).toMatch(/^[1-9A-HJ-NP-Za-km-z]{58000}$/);
    expect(new Set(text).size).toBe(58);
    expect([hasNoLookalikes(text), hasNoLookalikes("1O"), hasNoLookalikes("l"), hasNoLookalikes("I0")]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("ids of a team", () => {
  it("lead to the team and have the shape that clients expect", async () => {
    const teamId = await newTeamId(keys);
    expect(teamId).toMatch(/^team-[1-9A-HJ-NP-Za-km-z]{16}$/);
    const route = teamRoute(teamId);
    expect(await readTeamId(keys, teamId)).toBe(route);
    const tokenId = await newTokenId(keys, route);
    expect(tokenId).toMatch(/^at-[0-9A-Za-z]{16}$/);
    expect(await readTokenId(keys, tokenId)).toBe(route);
    const { text, verifier } = await newTeamToken(keys, route);
    expect(text).toMatch(/^[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z]{67}$/);
    expect(await readTeamToken(keys, text)).toEqual({ route, verifier });
    expect(verifier).toHaveLength(24);
  });

  it("of teams that are not in base58 lead to the team as well: older ids are such", async () => {
    const tag = async (body: string) =>
      base62Digest((await keyedHash(keys.identity, new TextEncoder().encode(`team\0${body}`))).subarray(0, 8), 8);
    const teamId = `team-0OIl0OIl${await tag("team-0OIl0OIl")}`;
    expect(await readTeamId(keys, teamId)).toBe("0OIl0OIl");
  });

  it("differ each time", async () => {
    const route = teamRoute(await newTeamId(keys));
    const texts = await Promise.all(Array.from({ length: 50 }, async () => (await newTeamToken(keys, route)).text));
    expect(new Set(texts).size).toBe(50);
    const ids = await Promise.all(Array.from({ length: 50 }, () => newTokenId(keys, route)));
    expect(new Set(ids).size).toBeGreaterThan(45);
  });

  it("outlive a rotation of the keys, and new tokens are made under the new one", async () => {
    const ring = newKeyRing(0);
    const before = await importKeys(ring);
    const after = await importKeys(withNewTerm(ring, 1, 1));
    const teamId = await newTeamId(before);
    const route = teamRoute(teamId);
    const { text, verifier } = await newTeamToken(before, route);
    expect(await readTeamId(after, teamId)).toBe(route);
    expect(await readTeamToken(after, text)).toEqual({ route, verifier });
    expect(await readTeamToken(before, (await newTeamToken(after, route)).text)).toBeNull();
  });

  it("of another installation are refused", async () => {
    const teamId = await newTeamId(keys);
    const route = teamRoute(teamId);
    expect(await readTeamId(others, teamId)).toBeNull();
    expect(await readTokenId(others, await newTokenId(keys, route))).toBeNull();
    expect(await readTeamToken(others, (await newTeamToken(keys, route)).text)).toBeNull();
  });

  it("with any change are refused", async () => {
    const teamId = await newTeamId(keys);
    const route = teamRoute(teamId);
    const { text } = await newTeamToken(keys, route);
    const tokenId = await newTokenId(keys, route);
    const alphabet = fc.constantFrom(..."0Az.-_ \u00e9");
    await fc.assert(
      fc.asyncProperty(fc.nat(89), alphabet, fc.constantFrom("replace", "insert", "drop"), async (at, char, change) => {
        for (const [original, read] of [
          [text, readTeamToken],
          [teamId, readTeamId],
          [tokenId, readTokenId],
        ] as const) {
          const place = at % original.length;
          const rest = original.slice(change === "insert" ? place : place + 1);
          const changed = original.slice(0, place) + (change === "drop" ? "" : char) + rest;
          if (changed !== original) expect(await read(keys, changed)).toBeNull();
        }
      }),
      { numRuns: 300 },
    );
  });

  it("of one kind are not those of another", async () => {
    const teamId = await newTeamId(keys);
    const tokenId = await newTokenId(keys, teamRoute(teamId));
    expect(await readTokenId(keys, `at-${teamId.slice(5)}`)).toBeNull();
    expect(await readTeamId(keys, `team-${tokenId.slice(3)}`)).toBeNull();
  });

  it("of users are the same for the same one", async () => {
    const id = await userIdOf(keys, "name\0ann");
    expect(id).toMatch(/^user-[0-9A-Za-z]{16}$/);
    expect(await userIdOf(keys, "name\0ann")).toBe(id);
    expect(await userIdOf(keys, "entity\0ann")).not.toBe(id);
    expect(await userIdOf(others, "name\0ann")).not.toBe(id);
  });
});

describe("holders of an organization's tokens", () => {
  it("have routes that no team has, and ids that can't be named", async () => {
    for (let count = 0; count < 100; count++) {
      const id = await newHolderId(keys);
      expect(id).toMatch(/^team-0[0-9A-Za-z]{15}$/);
      expect(isHolderRoute(teamRoute(id))).toBe(true);
      expect(isHolderRoute(teamRoute(await newTeamId(keys)))).toBe(false);
      expect(await readTeamId(keys, id)).toBeNull();
      expect(await readTokenId(keys, await newTokenId(keys, teamRoute(id)))).toBe(teamRoute(id));
    }
  });
});
