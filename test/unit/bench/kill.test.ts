import { describe, expect, it } from "vitest";
import { expectedOf, Ledger, mayHold } from "../../../scripts/bench/kill/ledger.ts";

describe("what must be true after a kill", () => {
  it("a token lives until a revocation of it, or of what is above it, is answered", () => {
    const ledger = new Ledger();
    const top = ledger.created("top", null);
    const child = ledger.created("child", top);
    const leaf = ledger.created("leaf", child);
    expect([top, child, leaf].map(expectedOf)).toEqual(["alive", "alive", "alive"]);
    child.revocation = "sent";
    expect([top, child, leaf].map(expectedOf)).toEqual(["alive", "unknown", "unknown"]);
    child.revocation = "answered";
    expect([top, child, leaf].map(expectedOf)).toEqual(["alive", "dead", "dead"]);
  });

  it("an answered revocation holds whatever else was only sent", () => {
    const ledger = new Ledger();
    const top = ledger.created("top", null);
    const child = ledger.created("child", top);
    top.revocation = "answered";
    child.revocation = "sent";
    expect(expectedOf(child)).toBe("dead");
  });

  it("a number is between what was answered and what was sent", () => {
    const number = new Ledger().number("uses");
    expect(mayHold(number, 0)).toBe(true);
    number.sent = 5;
    number.answered = 4;
    expect([3, 4, 5, 6, Number.NaN].map((found) => mayHold(number, found))).toEqual([false, true, true, false, false]);
  });

  it("a number is kept under its name", () => {
    const ledger = new Ledger();
    ledger.number("a").sent = 3;
    expect(ledger.number("a").sent).toBe(3);
    expect(ledger.number("b").sent).toBe(0);
  });
});
