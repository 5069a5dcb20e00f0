import { describe, expect, it } from "vitest";
import { parseDevArguments } from "../../../scripts/dev/arguments.ts";
import { environmentFile } from "../../../scripts/dev/identity.ts";
import { sortLine } from "../../../scripts/dev/output.ts";
import { settingsFromEnvironment } from "../../../scripts/local/worker-definition.ts";

describe("sortLine", () => {
  it("finds the port", () => {
    expect(sortLine("[wrangler:info] Ready on http://127.0.0.1:41234")).toEqual({ kind: "ready", port: 41234 });
  });

  it.each([
    ['{"type":"request","path":"sys/health"}', "audit"],
    ["[wrangler:info] GET /v1/sys/health 200 OK (3ms)", "chatter"],
    ['env.GROVE_SEAL_KEY ("(hidden)")                Environment Variable      local', "chatter"],
    ["", "chatter"],
    ["✘ [ERROR] Build failed with 1 error:", "message"],
    ['{"type":"exception","request_id":"x"}', "message"],
    ["    src/index.ts:9:10:", "message"],
  ])("%s", (line, kind) => expect(sortLine(line).kind).toBe(kind));
});

describe("environmentFile", () => {
  it("has one line for each setting", () => {
    expect(environmentFile({ A: "1:ab+/=", B_2: "two words # no comment" })).toEqual({
      ok: true,
      value: "A='1:ab+/='\nB_2='two words # no comment'\n",
    });
  });

  it.each(["it's", "$HOME", "a\nB='x'", "a\\n"])("refuses a value that would arrive changed: %j", (value) => {
    const file = environmentFile({ A: value });
    expect(file).toMatchObject({ ok: false, error: expect.stringContaining("A has") });
  });
});

describe("settingsFromEnvironment", () => {
  it("takes the Worker's own settings and nothing else", () => {
    const environment = {
      HOME: "/root",
      POLICY_CACHE_SECONDS: "0",
      GROVE_SEAL_KEY: "1:x",
      CLOUD_ACCESS_KEY: "AKIA1",
      AWS_REGION: "eu-west-1",
      AWS_PROFILE: "no",
      GROVER: "no",
      constructor: "no",
    };
    expect(settingsFromEnvironment({ vars: { POLICY_CACHE_SECONDS: "5" } }, environment)).toEqual({
      POLICY_CACHE_SECONDS: "0",
      GROVE_SEAL_KEY: "1:x",
      CLOUD_ACCESS_KEY: "AKIA1",
      AWS_REGION: "eu-west-1",
    });
  });
});

describe("the command line of dev", () => {
  it("has defaults", () => {
    expect(parseDevArguments([])).toEqual({
      ok: true,
      value: { kind: "run", port: 8200, data: ".grove/dev", fresh: false, rootToken: undefined },
    });
  });

  it.each([
    [["--port", "65536"], "--port"],
    [["--port=-1"], "--port"],
    [["--data="], "--data"],
    [["--root-token="], "--root-token"],
    [["--root-token", "hvs.x"], "--root-token"],
    [["extra"], "extra"],
  ])("says what is wrong with %j", (flags, named) => {
    expect(parseDevArguments(flags)).toMatchObject({ ok: false, error: expect.stringContaining(named) });
  });
});
