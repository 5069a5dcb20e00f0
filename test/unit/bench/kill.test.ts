import { describe, expect, it } from "vitest";
import { type Entry, expectedOf, Ledger, mayContain } from "../../../bench/kill/ledger.ts";
import { Choices } from "../../../bench/kill/writer.ts";

/** Three tokens, one below the other, and a lease of the last. */
function chain(): Record<"top" | "child" | "leaf" | "lease", Entry> {
  const ledger = new Ledger();
  const top = ledger.created("token", "top", null);
  const child = ledger.created("token", "child", top);
  const leaf = ledger.created("token", "leaf", child);
  return { top, child, leaf, lease: ledger.created("lease", "lease", leaf) };
}

const all = ({ top, child, leaf, lease }: ReturnType<typeof chain>) => [top, child, leaf, lease].map(expectedOf);

describe("what must be true after a kill", () => {
  it("an entry lives until an ending of it, or of what is above it, is answered", () => {
    const entries = chain();
    expect(all(entries)).toEqual(["alive", "alive", "alive", "alive"]);
    entries.child.ending = "sent";
    expect(all(entries)).toEqual(["alive", "unknown", "unknown", "unknown"]);
    entries.child.ending = "answered";
    expect(all(entries)).toEqual(["alive", "dead", "dead", "dead"]);
  });

  it.each(["sent", "sent in background", "promised"] as const)("an ending that is %s says nothing yet", (ending) => {
    const entries = chain();
    entries.leaf.ending = ending;
    expect(all(entries)).toEqual(["alive", "alive", "unknown", "unknown"]);
  });

  it("an answered ending holds whatever else was only sent", () => {
    const entries = chain();
    entries.top.ending = "answered";
    entries.child.ending = "sent";
    expect(all(entries)).toEqual(["dead", "dead", "dead", "dead"]);
  });

  it("a token that ended alone takes its leases along, and cuts its children off from what is above", () => {
    const entries = chain();
    Object.assign(entries.leaf, { ending: "answered", alone: true });
    expect(all(entries)).toEqual(["alive", "alive", "dead", "dead"]);
    Object.assign(entries.leaf, { ending: "none", alone: false });
    Object.assign(entries.child, { ending: "answered", alone: true });
    entries.top.ending = "answered";
    expect(all(entries)).toEqual(["dead", "dead", "alive", "alive"]);
  });

  it("whether it did is only of interest when what is above has ended too", () => {
    const entries = chain();
    Object.assign(entries.child, { ending: "sent", alone: true });
    expect(all(entries)).toEqual(["alive", "unknown", "alive", "alive"]);
    entries.top.ending = "answered";
    expect(all(entries)).toEqual(["dead", "dead", "unknown", "unknown"]);
  });

  it("a number is between what was answered and what was sent", () => {
    const number = new Ledger().number("uses");
    expect(mayContain(number, 0)).toBe(true);
    number.sent = 5;
    number.answered = 4;
    expect([3, 4, 5, 6, Number.NaN].map((found) => mayContain(number, found))).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it("a number is kept under its name", () => {
    const ledger = new Ledger();
    ledger.number("a").sent = 3;
    expect(ledger.number("a").sent).toBe(3);
    expect(ledger.number("b").sent).toBe(0);
  });
});

it("random choices come again with their seed, and differ with another", () => {
  const made = (seed: string) => {
    const choices = new Choices(seed);
    return Array.from({ length: 20 }, () => choices.below(1000));
  };
  expect(made("seed 0")).toEqual(made("seed 0"));
  expect(made("seed 0")).not.toEqual(made("seed 1"));
});
