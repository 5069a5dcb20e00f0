import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../../../bench/history/check.ts";
import type { Creation, HistoryEvent, Receipt, Revocation, Use, Watermark } from "../../../bench/history/history.ts";

const created = (token: string, at: number, more: Partial<Creation> = {}): Creation => ({
  ...{ kind: "create", token, parent: null, groups: [], uses: null, batch: false, expiresAt: null, nonce: null },
  ...{ begin: at, end: at + 1 },
  ...more,
});
const used = (token: string, at: number, accepted: boolean | null): Use => ({
  ...{ kind: "use", token, accepted, begin: at, end: accepted === null ? null : at + 1 },
});
const revoked = (token: string, at: number, more: Partial<Revocation> = {}): Revocation => ({
  ...{ kind: "revoke", token, alone: false, begin: at, end: at + 1 },
  ...more,
});
const watermark = (group: string, at: number): Watermark => ({ kind: "watermark", group, begin: at, end: at + 1 });
const receipt = (group: string, at: number, ended: readonly string[]): Receipt => {
  return { kind: "receipt", group, ended, listedUpTo: at, begin: at, end: at + 1 };
};

describe("the checker of histories finds", () => {
  it.each<[string, HistoryEvent[], string]>([
    ["a stale acceptance", [created("t", 0), revoked("t", 10), used("t", 20, true)], "after the revocation of t"],
    [
      "a stale acceptance below a revoked ancestor",
      [
        created("a", 0),
        created("b", 2, { parent: "a" }),
        created("t", 4, { parent: "b" }),
        revoked("a", 10),
        used("t", 20, true),
      ],
      "after the revocation of a",
    ],
    [
      "a batch token that is accepted after its parent was revoked alone",
      [
        ...[created("a", 0), created("t", 2, { parent: "a", batch: true })],
        ...[revoked("a", 10, { alone: true }), used("t", 20, true)],
      ],
      "after the revocation of a",
    ],
    [
      "a stale acceptance after a watermark",
      [created("t", 0, { groups: ["role"] }), watermark("role", 10), used("t", 20, true)],
      "after the watermark of role",
    ],
    [
      "a stale acceptance below a token that a watermark ended",
      [
        created("a", 0, { groups: ["role"] }),
        created("t", 2, { parent: "a" }),
        watermark("role", 10),
        used("t", 20, true),
      ],
      "after the watermark of role",
    ],
    ["a lost write", [created("t", 0), used("t", 10, false)], "though nothing had ended it"],
    [
      "a resurrected subtree, although its revocation has no answer",
      [created("t", 0), revoked("t", 10, { end: null }), used("t", 20, false), used("t", 30, true)],
      "after it was refused",
    ],
    [
      "a token that is accepted after it was refused, between two watermarks",
      [
        ...[created("t", 8, { groups: ["role"] }), watermark("role", 8), used("t", 20, false), used("t", 30, true)],
        watermark("role", 40),
      ],
      "after it was refused",
    ],
    [
      "a use that was counted twice",
      [created("t", 0, { uses: 2 }), used("t", 10, true), used("t", 20, false)],
      "after 1 of 2 uses",
    ],
    [
      "a use that was not counted",
      [created("t", 0, { uses: 1 }), used("t", 10, true), used("t", 20, true)],
      "its limit is 1",
    ],
    ["two tokens of a nonce", [created("t", 0, { nonce: "n" }), created("u", 5, { nonce: "n" })], "gave 2 tokens"],
    [
      "two tokens of a nonce that was used at two nodes at once",
      [created("t", 0, { nonce: "n" }), created("u", 0, { nonce: "n" })],
      "gave 2 tokens",
    ],
    [
      "a token that a job ended and its receipt does not name",
      [created("t", 0, { groups: ["g"] }), { ...receipt("g", 10, []), listedUpTo: -10 }, used("t", 20, false)],
      "though nothing had ended it",
    ],
    [
      "a token of a receipt that is accepted",
      [created("t", 0, { groups: ["g"] }), revoked("t", 10), receipt("g", 10, ["t"]), used("t", 20, true)],
      "after the revocation of t",
    ],
    [
      "a token that a watermark ended although it was made after its answer",
      [watermark("g", 0), created("t", 10, { groups: ["g"] }), used("t", 20, false)],
      "though nothing had ended it",
    ],
    ["an incomplete receipt", [created("t", 0, { groups: ["g"] }), receipt("g", 10, [])], "lacks t"],
  ])("%s", (_, history, said) => {
    expect(violationsOf(history)).toEqual([expect.stringContaining(said)]);
  });
});

describe("the checker of histories accepts", () => {
  it.each<[string, HistoryEvent[]]>([
    [
      "a use that began before the answer of the revocation",
      [created("t", 0), revoked("t", 10, { end: 20 }), used("t", 15, true)],
    ],
    [
      "a revocation without an answer that did nothing",
      [created("t", 0), revoked("t", 10, { end: null }), used("t", 20, true)],
    ],
    [
      "a refusal while a revocation is under way",
      [created("t", 0), used("t", 12, false), revoked("t", 10, { end: 20 })],
    ],
    [
      "a token that one node refuses and another accepts while a watermark is made",
      [
        created("t", 0, { groups: ["role"] }),
        { ...watermark("role", 10), end: 40 },
        ...[used("t", 20, false), used("t", 30, true), used("t", 50, false)],
      ],
    ],
    [
      "a child that lives on when its parent is revoked alone",
      [created("a", 0), created("t", 2, { parent: "a" }), revoked("a", 10, { alone: true }), used("t", 20, true)],
    ],
    [
      "a child whose parent was revoked alone, and then once more with nothing below it",
      [
        ...[created("a", 0), created("t", 2, { parent: "a" })],
        ...[revoked("a", 10, { alone: true }), revoked("a", 20), used("t", 30, true)],
      ],
    ],
    [
      "a grandchild that was detached before its ancestor was revoked",
      [
        ...[created("a", 0), created("b", 2, { parent: "a" }), created("t", 4, { parent: "b" })],
        ...[revoked("b", 10, { alone: true }), revoked("a", 20), used("t", 30, true)],
      ],
    ],
    [
      "a token that was made while a watermark was set",
      [created("t", 9, { groups: ["g"], end: 12 }), watermark("g", 10), used("t", 20, true)],
    ],
    [
      "a token that was made after a watermark",
      [watermark("g", 10), created("t", 12, { groups: ["g"] }), used("t", 20, true)],
    ],
    [
      "uses without an answer",
      [created("t", 0, { uses: 2 }), used("t", 10, true), used("t", 20, null), used("t", 30, false)],
    ],
    [
      "a batch token whose parent was detached before its ancestor was revoked",
      [
        ...[created("a", 0), created("b", 2, { parent: "a" }), created("c", 4, { parent: "b" })],
        ...[created("t", 6, { parent: "c", batch: true }), revoked("b", 10, { alone: true })],
        ...[revoked("a", 20), used("t", 30, true), revoked("c", 40, { alone: true }), used("t", 50, false)],
      ],
    ],
    ["an expired token", [created("t", 0, { expiresAt: 10 }), used("t", 20, false)]],
    ["one token that a nonce gave twice", [created("t", 0, { nonce: "n" }), created("t", 5, { nonce: "n" })]],
    [
      "a receipt without a token that was not listed yet",
      [created("t", 5, { groups: ["g"] }), { ...receipt("g", 10, []), listedUpTo: 5 }, used("t", 20, true)],
    ],
    [
      "tokens of a group that a job without a receipt may end at any time",
      [
        created("t", 0, { groups: ["g"] }),
        { ...watermark("g", 10), end: null },
        used("t", 20, true),
        used("t", 30, false),
      ],
    ],
    [
      "a receipt without what ended before",
      [created("t", 0, { groups: ["g"] }), revoked("t", 5), receipt("g", 10, [])],
    ],
  ])("%s", (_, history) => {
    expect(violationsOf(history)).toEqual([]);
  });
});

/** A step of a client, at a random moment. */
type Step = readonly [what: "create" | "use" | "revoke" | "orphan" | "watermark", number: number, answered: boolean];

/** The history of a server that does each step at the middle of its request. `fault` spoils one answered use. */
function historyOf(steps: readonly Step[], fault: number | null): HistoryEvent[] {
  const alive = new Map<string, { parent: string | null; group: string }>();
  const made: string[] = [];
  const history: HistoryEvent[] = [];
  const end = (token: string): void => {
    alive.delete(token);
    for (const [child, { parent }] of [...alive]) if (parent === token) end(child);
  };
  steps.forEach(([what, number, answered], index) => {
    const at = index * 10;
    const token = made[number % Math.max(made.length, 1)];
    const group = `g${number % 3}`;
    const times = { begin: at, end: answered ? at + 5 : null };
    if (what === "create") {
      const name = `t${index}`;
      const parent = token !== undefined && alive.has(token) && number % 2 === 0 ? token : null;
      alive.set(name, { parent, group });
      made.push(name);
      history.push(created(name, at, { parent, groups: [group] }));
    } else if (what === "watermark") {
      for (const [name, one] of [...alive]) if (one.group === group) end(name);
      history.push({ kind: "watermark", group, ...times });
    } else if (token !== undefined && what === "use") {
      const accepted = index === fault ? !alive.has(token) : alive.has(token);
      history.push({ kind: "use", token, accepted: answered ? accepted : null, ...times });
    } else if (token !== undefined) {
      if (what === "revoke") end(token);
      else {
        for (const one of alive.values()) if (one.parent === token) one.parent = null;
        alive.delete(token);
      }
      history.push({ kind: "revoke", token, alone: what === "orphan", ...times });
    }
  });
  return history;
}

const step = fc.tuple(
  fc.constantFrom("create", "use", "use", "revoke", "orphan", "watermark" as const),
  fc.nat(50),
  fc.boolean(),
) as fc.Arbitrary<Step>;

it("finds nothing in the history of a correct server, whichever answers are lost", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => violationsOf(historyOf(steps, null)).length === 0),
  );
});

it("finds a wrong answer about a token that was created, or revoked, with an answer", () => {
  const answered = fc.array(step, { minLength: 1, maxLength: 40 }).map((steps) => {
    return steps
      .filter(([what]) => what !== "orphan" && what !== "watermark")
      .map(([what, number]) => [what, number, true] as const);
  });
  fc.assert(
    fc.property(answered, fc.nat(40), (steps, number) => {
      const all: Step[] = [["create", 1, true], ...steps, ["use", number, true]];
      expect(violationsOf(historyOf(all, all.length - 1))).not.toEqual([]);
    }),
  );
});
