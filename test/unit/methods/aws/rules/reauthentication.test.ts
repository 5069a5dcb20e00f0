import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importKeys, newKeyRing } from "../../../../../src/crypto/key-ring.ts";
import {
  type AccessEntry,
  decideLogin,
  ENTRY_VIEW,
  type InstanceLogin,
  type PresentedNonce,
  prepareNonce,
} from "../../../../../src/methods/aws/rules/reauthentication.ts";

const keys = await importKeys(newKeyRing(0));
const MOUNT = { uuid: "mount-1" };
const NOW = 1_000_000;

const sent = async (nonce: string | null | undefined, instance = "i-1", mount = MOUNT): Promise<PresentedNonce> => {
  const prepared = await prepareNonce(keys, mount, instance, nonce);
  if (!prepared.ok) throw new Error("refused");
  return prepared.value.nonce;
};

const at = (ms: number) => ({ pendingTime: new Date(ms).toISOString(), pendingTimeMs: ms });

function login(nonce: PresentedNonce, changes: Partial<InstanceLogin> = {}): InstanceLogin {
  return {
    role: "web",
    nonce,
    ...at(500),
    allowMigration: false,
    disallowReauthentication: false,
    expiresAt: NOW + 1000,
    ...changes,
  };
}

function entered(entry: AccessEntry | null, attempt: InstanceLogin, now = NOW): AccessEntry {
  const result = decideLogin(entry, attempt, now);
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

function refusal(entry: AccessEntry, attempt: InstanceLogin): string | null {
  const result = decideLogin(entry, attempt, NOW);
  return result.ok || !("message" in result.error) ? null : result.error.message;
}

describe("the first login of an instance", () => {
  it("is remembered with the nonce that the next one must show", async () => {
    const nonce = await sent("mine");
    expect(nonce.kind).toBe("sent");
    expect(entered(null, login(nonce))).toEqual({
      role: "web",
      nonceHash: nonce.kind === "sent" ? nonce.hash : "",
      createdAt: NOW,
      updatedAt: NOW,
      expiresAt: NOW + 1000,
      ...at(500),
    });
  });

  it.each([
    ["an empty nonce", "", false],
    ["a null nonce", null, false],
    ["the reserved word", "reauthentication-disabled-nonce", false],
    ["a role or tag that disallows it", "mine", true],
    ["the same without a nonce", undefined, true],
  ])("is the last one with %s", async (_, nonce, disallowReauthentication) => {
    const entry = entered(null, login(await sent(nonce), { disallowReauthentication }));
    expect(entry.nonceHash).toBeNull();
    for (const next of ["mine", "", undefined, "reauthentication-disabled-nonce"]) {
      expect(refusal(entry, login(await sent(next), { ...at(900), allowMigration: true }))).toBe(
        "reauthentication is disabled",
      );
    }
  });
});

describe("a later login", () => {
  it("needs the nonce", async () => {
    const entry = entered(null, login(await sent("mine")));
    expect(refusal(entry, login(await sent("mine")))).toBeNull();
    for (const other of ["other", "", null, undefined, "MINE", "mine "]) {
      expect(refusal(entry, login(await sent(other)))).toBe("client nonce mismatch");
    }
    expect(refusal(entry, login(await sent("reauthentication-disabled-nonce")))).toBe("reauthentication is disabled");
  });

  it("needs the generated nonce where the client sent none", async () => {
    const prepared = await prepareNonce(keys, MOUNT, "i-1", undefined);
    if (!prepared.ok || prepared.value.generated === null) throw new Error("nothing generated");
    const entry = entered(null, login(prepared.value.nonce));
    expect(refusal(entry, login(await sent(prepared.value.generated)))).toBeNull();
    expect(refusal(entry, login(prepared.value.nonce))).toBe("client nonce mismatch");
  });

  it("may not show an older document; the same one is fine", async () => {
    const entry = entered(null, login(await sent("mine")));
    expect(refusal(entry, login(await sent("mine"), at(499)))).toBe(
      "instance meta-data is older than the one used for previous login",
    );
    expect(refusal(entry, login(await sent("mine"), at(500)))).toBeNull();
    const newer = entered(entry, login(await sent("mine"), at(501)));
    expect(refusal(newer, login(await sent("mine"), at(500)))).toContain("older");
  });

  it("after a migration takes another nonce with a newer document, and that nonce counts from then on", async () => {
    const entry = entered(null, login(await sent("mine")));
    const migrating = { allowMigration: true, ...at(600) };
    for (const pending of [499, 500]) {
      expect(refusal(entry, login(await sent("new"), { ...migrating, ...at(pending) }))).toBe(
        "client nonce mismatch and instance meta-data incorrect",
      );
    }
    const migrated = entered(entry, login(await sent("new"), migrating));
    expect(refusal(migrated, login(await sent("new")))).toContain("older");
    expect(refusal(migrated, login(await sent("new"), at(600)))).toBeNull();
    expect(refusal(migrated, login(await sent("mine"), at(600)))).toBe("client nonce mismatch");
  });

  it("that sends no nonce after a migration gets a new one, which works", async () => {
    const entry = entered(null, login(await sent("mine")));
    const prepared = await prepareNonce(keys, MOUNT, "i-1", undefined);
    if (!prepared.ok || prepared.value.generated === null) throw new Error("nothing generated");
    const migrated = entered(entry, login(prepared.value.nonce, { allowMigration: true, ...at(600) }));
    expect(refusal(migrated, login(await sent(prepared.value.generated), at(600)))).toBeNull();
  });

  it("ends reauthentication when it or the role says so, for good", async () => {
    const entry = entered(null, login(await sent("mine")));
    const ended = entered(entry, login(await sent("mine"), { disallowReauthentication: true }));
    expect(ended.nonceHash).toBeNull();
    expect(refusal(ended, login(await sent("mine")))).toBe("reauthentication is disabled");
    const emptied = entered(entry, login(await sent(""), { allowMigration: true, ...at(600) }));
    expect(emptied.nonceHash).toBeNull();
  });

  it("keeps role and beginning, moves the rest, and never shortens the guard", async () => {
    const entry = entered(null, login(await sent("mine")));
    const again = { role: "other", ...at(700), expiresAt: NOW + 5000 };
    const later = entered(entry, login(await sent("mine"), again), NOW + 10);
    expect(later).toEqual({ ...entry, ...at(700), updatedAt: NOW + 10, expiresAt: NOW + 5000 });
    expect(ENTRY_VIEW.show(later)).toEqual({
      role: "web",
      client_nonce: "",
      creation_time: "1970-01-01T00:16:40.000Z",
      disallow_reauthentication: false,
      pending_time: "1970-01-01T00:00:00.700Z",
      expiration_time: "1970-01-01T00:16:45.000Z",
      last_updated_time: "1970-01-01T00:16:40.010Z",
    });
    expect(entered(entry, login(await sent("mine"), { expiresAt: NOW + 1 })).expiresAt).toBe(NOW + 1000);
  });
});

describe("whatever clients try, in whichever order their logins arrive", () => {
  const nonces = Promise.all(["owner", "somebody", "another"].map((nonce) => sent(nonce)));
  /** Who logs in, and whether this login asks to be the last. A client that had no answer simply repeats it. */
  const attempts = fc.array(fc.record({ who: fc.nat(2), last: fc.integer({ min: 0, max: 9 }).map((n) => n === 0) }));

  it("only the first gets in, again and again, until reauthentication has ended", async () => {
    const known = await nonces;
    fc.assert(
      fc.property(attempts, (all) => {
        let entry: AccessEntry | null = null;
        let holder: number | null = null;
        let isEnded = false;
        for (const [at, { who, last }] of all.entries()) {
          const nonce: PresentedNonce = last
            ? { kind: "none", reserved: false }
            : (known[who] ?? { kind: "none", reserved: false });
          const decided = decideLogin(entry, login(nonce), NOW + at);
          const mayEnter: boolean = holder === null || (!isEnded && holder === who && !last);
          expect(decided.ok).toBe(mayEnter);
          if (!decided.ok) continue;
          entry = decided.value;
          holder = who;
          isEnded = entry.nonceHash === null;
        }
      }),
    );
  });
});

describe("the hash of a nonce", () => {
  const hash = (nonce: PresentedNonce) => (nonce.kind === "none" ? null : nonce.hash);

  it("differs between instances and mounts", async () => {
    const hashes = [
      hash(await sent("mine")),
      hash(await sent("mine", "i-2")),
      hash(await sent("mine", "i-1", { uuid: "mount-2" })),
      hash(await sent("e", "i-1min")),
    ];
    expect(new Set(hashes).size).toBe(4);
    expect(hashes.join()).not.toContain("mine");
  });

  it("is of at most 128 bytes", async () => {
    expect((await prepareNonce(keys, MOUNT, "i-1", "ü".repeat(64))).ok).toBe(true);
    expect(await prepareNonce(keys, MOUNT, "i-1", "ü".repeat(65))).toMatchObject({
      error: { message: "client nonce exceeding the limit of 128 characters" },
    });
  });
});

describe("any history of logins", () => {
  const step = fc.record({
    nonce: fc.constantFrom("a", "b", "", undefined),
    pending: fc.integer({ min: 0, max: 5 }),
    allowMigration: fc.boolean(),
    disallowReauthentication: fc.boolean(),
  });

  it("lets nobody in twice who neither knows the nonce nor shows a newer document of an instance that may migrate", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
        let entry: AccessEntry | null = null;
        for (const { nonce, pending, ...rest } of steps) {
          const presented = await sent(nonce);
          const result = decideLogin(entry, login(presented, { ...at(pending), ...rest }), NOW);
          if (!result.ok) continue;
          if (entry) {
            const before: AccessEntry = entry;
            expect(before.nonceHash).not.toBeNull();
            expect(pending).toBeGreaterThanOrEqual(before.pendingTimeMs);
            const knows = presented.kind === "sent" && presented.hash === before.nonceHash;
            expect(knows || (rest.allowMigration && pending > before.pendingTimeMs)).toBe(true);
          }
          entry = result.value;
        }
      }),
      { numRuns: 200 },
    );
  });
});
