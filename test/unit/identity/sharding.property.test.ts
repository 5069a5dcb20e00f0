import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ENTITY_SHARDS,
  entityPrefixOf,
  firstAliasId,
  firstIdAfter,
  firstShardFrom,
  nameOfEntity,
  newAliasId,
  newEntityId,
  randomShard,
  shardOfAlias,
  shardOfAliasId,
  shardOfEntity,
  shardOfName,
} from "../../../src/identity/shard/sharding.ts";

const shard = fc.nat(ENTITY_SHARDS - 1);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("the shard of an entity", () => {
  it("is in its id, in the name that it has until it gets another, and in the ids of its aliases", () => {
    fc.assert(
      fc.property(shard, (number) => {
        const id = newEntityId(number);
        expect(id).toMatch(UUID);
        expect(shardOfEntity(id)).toBe(number);
        expect(shardOfName(nameOfEntity(id))).toBe(number);
        expect(shardOfName(nameOfEntity(id).toUpperCase())).toBe(number);
        for (const alias of [firstAliasId(id), newAliasId(id)]) {
          expect(alias).toMatch(UUID);
          expect(shardOfAliasId(alias)).toBe(number);
          expect(entityPrefixOf(alias)).toBe(entityPrefixOf(id));
          expect(shardOfEntity(alias)).toBeNull();
        }
        expect(newAliasId(id)).not.toBe(newAliasId(id));
        expect(shardOfAliasId(id)).toBeNull();
      }),
    );
  });

  it("is in no id and no name that is made otherwise", () => {
    for (let draw = 0; draw < 100; draw++) {
      const id = crypto.randomUUID();
      expect([shardOfEntity(id), shardOfAliasId(id)]).toEqual([null, null]);
      expect(shardOfEntity(newEntityId(randomShard()))).not.toBeNull();
    }
    for (const name of ["", "entity_0123abcd.root", "entity_0123456789abcdef.root", "ada", "entity_"]) {
      expect(shardOfName(name), name).toBeNull();
    }
    expect(shardOfEntity(`${newEntityId(1)}x`)).toBeNull();
  });

  it("is the same for all spellings of an alias, and spreads evenly", () => {
    const shardFor = (name: string) => shardOfAlias({ mountAccessor: "auth_aws_1", name });
    expect(shardFor("Machine")).toBe(shardFor("mACHINE"));
    for (const nameOf of [(i: number) => `i-${i.toString(16).padStart(17, "0")}`, (i: number) => `user-${i}`]) {
      const counts = new Array<number>(ENTITY_SHARDS).fill(0);
      for (let i = 0; i < 100 * ENTITY_SHARDS; i++) {
        const number = shardFor(nameOf(i));
        counts[number] = (counts[number] ?? 0) + 1;
      }
      expect(Math.max(...counts)).toBeLessThan(200);
      expect(Math.min(...counts)).toBeGreaterThan(30);
    }
  });
});

describe("a list", () => {
  const ids = fc.array(shard.map(newEntityId), { minLength: 1, maxLength: 20 });
  const hexish = fc.stringMatching(/^[0-9a-f-]{0,36}$/);

  it.each(["id", "name", "aliasId"] as const)(
    "by %s misses nothing from the first id and the first shard on",
    (order) => {
      const keyOf = { id: (id: string) => id, name: nameOfEntity, aliasId: firstAliasId }[order];
      fc.assert(
        fc.property(ids, fc.nat(), fc.oneof(hexish, fc.string()), fc.boolean(), (drawn, at, text, cut) => {
          const one = keyOf(drawn[at % drawn.length] ?? "");
          for (const after of [one, one.slice(0, text.length), `${cut ? "entity_" : ""}${text}`]) {
            const compared = order === "name" ? after.toLowerCase() : after;
            const first = firstIdAfter(order, after);
            const from = first === null ? null : firstShardFrom(first);
            const expected = drawn.filter((id) => keyOf(id) > compared);
            const found = drawn.filter(
              (id) => first !== null && from !== null && id >= first && (shardOfEntity(id) ?? 0) >= from,
            );
            for (const id of expected) expect(found).toContain(id);
          }
        }),
      );
    },
  );

  it("has the same order by id, by name and by the id of the alias", () => {
    fc.assert(
      fc.property(ids, (drawn) => {
        const sorted = drawn.toSorted();
        expect(drawn.map(nameOfEntity).toSorted()).toEqual(sorted.map(nameOfEntity));
        expect(drawn.map(firstAliasId).toSorted()).toEqual(sorted.map(firstAliasId));
      }),
    );
  });
});
