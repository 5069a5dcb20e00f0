import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SignatureUses } from "../../../../../src/methods/aws/login/iam.ts";

const NOW = Date.UTC(2027, 0, 1);
const ENDS = NOW + 900_000;
const signature = (digit: string, endsAt = ENDS) => ({ text: digit.repeat(64), endsAt });

describe("the tokens of a signature", () => {
  it("are as many as allowed, and each signature has its own", () => {
    const uses = new SignatureUses();
    const take = (digit: string) => uses.take(signature(digit), 3, NOW);
    const answers = [take("a"), take("a"), take("a"), take("a"), take("b"), take("a")];
    expect(answers).toEqual([true, true, true, false, true, false]);
  });

  it("are counted until the signature ends, whatever was refused", () => {
    const uses = new SignatureUses();
    expect(uses.take(signature("a"), 1, NOW)).toBe(true);
    expect(uses.take(signature("a"), 1, ENDS - 1)).toBe(false);
    expect(uses.take(signature("a"), 1, ENDS)).toBe(true);
  });

  it("do not count when they were not made", () => {
    const uses = new SignatureUses();
    for (let i = 0; i < 5; i++) {
      expect(uses.take(signature("a"), 1, NOW)).toBe(true);
      uses.giveBack(signature("a"), NOW);
    }
    uses.giveBack(signature("b"), NOW);
    expect(uses.take(signature("b"), 1, NOW)).toBe(true);
  });

  it("are never more than allowed, in whatever order logins begin, fail and end", () => {
    const step = fc.record({ digit: fc.constantFrom("a", "b", "c"), fails: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), fc.integer({ min: 1, max: 4 }), (steps, most) => {
        const uses = new SignatureUses();
        const made = new Map<string, number>();
        for (const { digit, fails } of steps) {
          const taken = uses.take(signature(digit), most, NOW);
          expect(taken).toBe((made.get(digit) ?? 0) < most);
          if (taken && fails) uses.giveBack(signature(digit), NOW);
          else if (taken) made.set(digit, (made.get(digit) ?? 0) + 1);
        }
      }),
    );
  });
});
