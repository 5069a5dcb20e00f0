import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { err, type Failure, ok, type Result, UNAUTHENTICATED } from "../../../src/base/result.ts";
import type { EntityView } from "../../../src/identity/model.ts";
import { compileAcl } from "../../../src/policy/acl.ts";
import { type Call, decideAndAct, verdictForToken } from "../../../src/token/decide.ts";
import { PLAIN_RECORD, type TokenRecord } from "../../../src/token/record.ts";
import { NOW, rulesOf } from "../policy/helpers.ts";

/** Each policy grants reading of the path of its own name; "no-x" denies "x". */
const POLICIES = ["x", "y", "no-x"] as const;

const policies = {
  aclFor: (names: readonly string[]) =>
    compileAcl(
      names.map((name) => ({
        name,
        rules: rulesOf(
          name === "no-x" ? 'path "x" { capabilities = ["deny"] }' : `path "${name}" { capabilities = ["read"] }`,
        ),
      })),
      { now: NOW },
    ),
};
const installation = { policies };

function token(fields: Partial<TokenRecord> = {}): TokenRecord {
  const made = { displayName: "token", path: "auth/token/create", createdAt: NOW, creationTtl: 0 };
  return { ...PLAIN_RECORD, ...made, policies: [], ...fields };
}

function entityWith(policies: readonly string[]): EntityView {
  const entity = { id: "entity", name: "anna", metadata: {}, aliases: {} };
  return { revision: "1", disabled: false, policies, entity, groups: [] };
}

function reading(path: string, clientAddress: string | null = "192.0.2.1"): Call {
  return { access: { operation: "read", path }, clientAddress };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a decision", () => {
  it("allows what a policy of the token or of its entity grants, and nothing that either denies", () => {
    const some = fc.subarray([...POLICIES]);
    fc.assert(
      fc.property(some, some, fc.constantFrom("x", "y"), (ofToken, ofEntity, path) => {
        const all = [...ofToken, ...ofEntity];
        const expected = all.includes(path) && !(path === "x" && all.includes("no-x"));
        const decided = verdictForToken(token({ policies: ofToken }), reading(path), {
          installation,
          entity: ok(entityWith(ofEntity)),
          now: NOW,
        });
        expect(decided.ok && decided.value !== null).toBe(expected);
      }),
    );
  });

  it("refuses a token bound to networks from any other address, and from an unknown one", () => {
    const bound = token({ policies: ["x"], boundCidrs: ["192.0.2.0/24"] });
    const facts = { installation, entity: ok(null), now: NOW };
    expect(verdictForToken(bound, reading("x", "192.0.2.9"), facts)).toMatchObject({
      ok: true,
      value: { allowed: true },
    });
    for (const address of ["198.51.100.1", null]) {
      expect(verdictForToken(bound, reading("x", address), facts)).toEqual(err(UNAUTHENTICATED));
    }
  });

  it("refuses the token of an entity that is disabled or gone, whatever its own policies grant", () => {
    const facts = { installation, entity: err(UNAUTHENTICATED), now: NOW };
    expect(verdictForToken(token({ policies: ["x"] }), reading("x"), facts)).toEqual(err(UNAUTHENTICATED));
  });

  it("returns no verdict where no policy grants the request", () => {
    expect(verdictForToken(token(), reading("x"), { installation, entity: ok(null), now: NOW })).toEqual(ok(null));
  });
});

describe("finding a token and deciding", () => {
  const answer = <T>(decided: T) => ok(decided);
  const refuse = (_: unknown, failure: Failure): Result<never> => err(failure);

  it("is null when the token ends while its entity is loaded", async () => {
    const caller = token({ policies: ["x"], entityId: "entity" });
    let alive = true;
    const decided = await decideAndAct(
      installation,
      reading("x"),
      {
        find: () => (alive ? { caller } : null),
        loadEntity: async () => {
          alive = false;
          return ok(entityWith([]));
        },
      },
      answer,
      refuse,
    );
    expect(decided).toBe(null);
  });

  it("is null when the token expires while its entity is loaded", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
    const expiresAt = NOW + 1_000;
    const asked: number[] = [];
    const decided = await decideAndAct(
      installation,
      reading("x"),
      {
        find: (now) => {
          asked.push(now);
          return now < expiresAt ? { caller: token({ policies: ["x"], entityId: "entity" }) } : null;
        },
        loadEntity: async () => {
          vi.setSystemTime(expiresAt);
          return ok(entityWith([]));
        },
      },
      answer,
      refuse,
    );
    expect(decided).toBe(null);
    expect(asked).toEqual([NOW, expiresAt]);
  });

  it("judges the token as it is after its entity was loaded", async () => {
    let policies = ["x"];
    const decided = await decideAndAct(
      installation,
      reading("x"),
      {
        find: () => ({ caller: token({ policies, entityId: "entity" }) }),
        loadEntity: async () => {
          policies = [];
          return ok(entityWith([]));
        },
      },
      answer,
      refuse,
    );
    expect(decided).toMatchObject({ ok: true, value: { verdict: null } });
  });

  it("adds the policies of the entity", async () => {
    const decided = await decideAndAct(
      installation,
      reading("y"),
      {
        find: () => ({ caller: token({ policies: ["x"], entityId: "entity" }) }),
        loadEntity: async (id) => ok(id === "entity" ? entityWith(["y"]) : null),
      },
      answer,
      refuse,
    );
    expect(decided).toMatchObject({ ok: true, value: { verdict: { allowed: true } } });
  });

  it("loads no entity for a token without one, and none for a token that is not alive", async () => {
    const loadEntity = () => Promise.reject(new Error("an entity was loaded"));
    expect(await decideAndAct(installation, reading("x"), { find: () => null, loadEntity }, answer, refuse)).toBe(null);
    const found = { caller: token({ policies: ["x"] }) };
    expect(
      await decideAndAct(installation, reading("x"), { find: () => found, loadEntity }, answer, refuse),
    ).toMatchObject({
      ok: true,
    });
  });

  it("acts before another request finds the token: a last use counts once, though all wait for one entity", async () => {
    let usesLeft = 1;
    const entity = Promise.resolve(ok(entityWith(["x"])));
    const source = {
      find: () => (usesLeft > 0 ? { caller: token({ entityId: "entity" }) } : null),
      loadEntity: () => entity,
    };
    const use = () => {
      usesLeft--;
      return ok("used");
    };
    const requests = Array.from({ length: 8 }, () => decideAndAct(installation, reading("x"), source, use, refuse));
    const answers = await Promise.all(requests);
    expect(answers.filter((one) => one?.ok)).toHaveLength(1);
    expect(usesLeft).toBe(0);
  });
});
