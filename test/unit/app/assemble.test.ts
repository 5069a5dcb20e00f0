import { afterEach, describe, expect, it } from "vitest";
import { runInOneProcess, runOnNetwork, runOnOneThread } from "../../../src/app/assemble.ts";
import { isolates } from "../../../src/base/isolates.ts";
import { sweepPace } from "../../../src/base/turns.ts";
import { knownTokens, NO_KNOWN_TOKENS } from "../../../src/tree/known-tokens.ts";
import { treeReuse } from "../../../src/tree/supply/tree-end.ts";

afterEach(runOnNetwork);

/** What objects of a deployment share. */
function shared(): Record<string, boolean> {
  return {
    thread: sweepPace().isShared,
    isolate: !isolates().areMany,
    tokens: knownTokens() !== NO_KNOWN_TOKENS,
    trees: treeReuse().reuses,
  };
}

describe("the objects of a deployment", () => {
  it.each([
    ["on the network", runOnNetwork, { thread: false, isolate: false, tokens: false, trees: false }],
    ["under `wrangler dev`", runOnOneThread, { thread: true, isolate: false, tokens: false, trees: false }],
    ["in one process", runInOneProcess, { thread: true, isolate: true, tokens: true, trees: true }],
  ])("share nothing that is not theirs: %s", (_, assemble, expected) => {
    assemble();
    expect(shared()).toEqual(expected);
  });
});
