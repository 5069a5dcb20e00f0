import { describe, expect, it } from "vitest";
import { CLUSTER, deploymentOf, NETWORK, ONE_PROCESS, ONE_THREAD } from "../../../src/app/deployments.ts";
import { NO_KNOWN_TOKENS } from "../../../src/tree/known-tokens.ts";

describe("a deployment", () => {
  it.each([
    ["Cloudflare's network", {}, NETWORK],
    ["`npm run dev`", { ONE_THREAD: "true" }, ONE_THREAD],
    ["`npm run serve`", { ONE_PROCESS: "true" }, ONE_PROCESS],
    ["a cluster", { CLUSTER: "true" }, CLUSTER],
  ])("is chosen by its setting: %s", (_, env, deployment) => {
    expect(deploymentOf(env)).toBe(deployment);
  });

  it.each([
    ["Cloudflare's network", NETWORK, false],
    ["`npm run dev`", ONE_THREAD, true],
    ["`npm run serve`", ONE_PROCESS, true],
    ["a cluster", CLUSTER, false],
  ])("lists what an earlier process left, unless others make trees too: %s", (_, { makesAllTrees }, expected) => {
    expect(makesAllTrees).toBe(expected);
  });

  it.each([
    ["Cloudflare's network", NETWORK, { thread: false, isolate: false, tokens: false, trees: false, grace: false }],
    ["`npm run dev`", ONE_THREAD, { thread: true, isolate: false, tokens: false, trees: false, grace: false }],
    ["`npm run serve`", ONE_PROCESS, { thread: true, isolate: true, tokens: true, trees: true, grace: true }],
    ["a cluster", CLUSTER, { thread: true, isolate: false, tokens: false, trees: false, grace: false }],
  ])("shares nothing that another isolate may have: %s", (_, deployment, shared) => {
    expect({
      thread: deployment.pace.collectsRemovals,
      isolate: deployment.treesElsewhere(["tree"]).length === 0 && deployment.delayElsewhereMs(5000) === 0,
      tokens: deployment.knownTokens !== NO_KNOWN_TOKENS,
      trees: deployment.reusesTrees,
      grace: deployment.graceMs(60_000) > 0,
    }).toEqual(shared);
  });
});
