import { describe, expect, it } from "vitest";
import type { TokenEnv } from "../../../src/token/env.ts";
import { treeBeginning } from "../../../src/token/ids.ts";
import { newTreeId } from "../../../src/token/tree-stub.ts";

/** An environment whose unique ids begin with these bytes, one after the other. */
function generating(firstBytes: readonly number[]): TokenEnv {
  const left = [...firstBytes];
  const newUniqueId = () => `${(left.shift() ?? 0).toString(16).padStart(2, "0")}${"0".repeat(62)}`;
  return { TOKEN_TREE: { newUniqueId } } as unknown as TokenEnv;
}

describe("the id of a new tree", () => {
  it("gives no accessor that a command line takes for an option", () => {
    const allBytes = Array.from({ length: 256 }, (_, byte) => byte);
    const env = generating(allBytes);
    const beginnings = Array.from({ length: 252 }, () => treeBeginning(newTreeId(env)));
    expect(new Set(beginnings).size).toBe(252);
    expect(beginnings.filter((text) => text.startsWith("-"))).toEqual([]);
  });
});
