import { describe, expect, it } from "vitest";
import { isRefusedByLeavingNode, ObjectMoves } from "../../../src/base/object-moves.ts";
import { givenUp, isLostCall } from "../../../src/base/platform-errors.ts";

const LOST = new Error("Network connection lost.");

/** The error of a node that leaves. */
function refusal(): unknown {
  const moves = new ObjectMoves();
  moves.leave();
  try {
    moves.accept();
    return null;
  } catch (error) {
    return error;
  }
}

describe("a node that leaves", () => {
  it("refuses calls as lost ones that have not begun", () => {
    expect(() => new ObjectMoves().accept()).not.toThrow();
    expect(isLostCall(refusal())).toBe(true);
    expect(isRefusedByLeavingNode(refusal())).toBe(true);
    // An object behind the called one was refused: the called one may have changed something.
    for (const error of [LOST, givenUp(refusal()), "text"]) expect(isRefusedByLeavingNode(error)).toBe(false);
  });
});

describe("moves", () => {
  it("are planned for 8 seconds after a refusal by a leaving node", () => {
    const moves = new ObjectMoves();
    moves.noteLostCall(refusal(), 1_000);
    moves.noteLostCall(LOST, 2_000);
    expect([1_000, 8_999, 9_000].map((now) => moves.arePlanned(now))).toEqual([true, true, false]);
  });
});
