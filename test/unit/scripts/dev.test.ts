import { describe, expect, it } from "vitest";
import { parseDevArguments } from "../../../scripts/dev/arguments.ts";
import { environmentFile } from "../../../scripts/dev/dev-secrets.ts";
import { sortLine, WranglerOutput } from "../../../scripts/dev/wrangler-output.ts";
import { settingsFromEnvironment } from "../../../scripts/local/worker-definition.ts";

describe("sortLine", () => {
  it("finds the port in the line that Wrangler writes", () => {
    expect(sortLine("[wrangler:info] Ready on http://127.0.0.1:41234")).toEqual({ kind: "ready", port: 41234 });
  });

  it.each([
    ['{"type":"request","path":"sys/health"}', "audit"],
    ['{"type":"response","path":"sys/health"}', "audit"],
    ['{"type":"lease walk","error":"x"}', "audit"],
    ["[wrangler:info] GET /v1/sys/health 200 OK (3ms)", "chatter"],
    ['env.GROVE_SEAL_KEY ("(hidden)")                Environment Variable      local', "chatter"],
    ["", "chatter"],
    [
      "▲ [WARNING] NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch; scheduledTime = 1s; actorId = 55cf",
      "chatter",
    ],
    ["✘ [ERROR] e = rust/worker/ffi.rs:104: failed: failed to lookup address information", "chatter"],
    [
      "✘ [ERROR] Socket proxy disconnected abruptly; e = kj/async-io-unix.c++:186: failed: connect(): Connection refused",
      "chatter",
    ],
    ["✘ [ERROR] e = workerd/jsg/modules.c++:104: failed: a module is missing", "message"],
    ["✘ [ERROR] NOSENTRY SQLite reschedule later alarm failed; e = kj/exception", "message"],
    ["✘ [ERROR] Build failed with 1 error:", "broken"],
    ["⎔ Local server updated and ready", "updated"],
    ["▲ [WARNING] Scheduled Workers are not automatically triggered during local development.", "chatter"],
    ['    curl "http://127.0.0.1:38043/cdn-cgi/local/scheduled"', "chatter"],
    ['{"type":"exception","request_id":"x"}', "message"],
    ["    src/index.ts:9:10:", "message"],
    [
      "  stack: /grove/bin/workerd@553261e /grove/bin/workerd@5533110; sentryErrorContext = jsgInternalError",
      "chatter",
    ],
    ["The file src/base/clock.ts changed, restarting build...", "chatter"],
  ])("knows what %s is", (line, kind) => expect(sortLine(line).kind).toBe(kind));
});

describe("WranglerOutput", () => {
  const BROKEN = [
    "\u001b[31m✘ \u001b[41;31m[\u001b[41;97mERROR\u001b[41;31m]\u001b[0m \u001b[1mBuild failed with 2 errors:\u001b[0m",
    '  \u001b[31m✘ [ERROR] Unexpected ";"\u001b[0m',
    "      src/index.ts:9:10:",
    "        9 │ const x = ;",
    '  ✘ [ERROR] Could not resolve "./nix.ts"',
    "      src/env.ts:1:2:",
  ];

  it("knows the mistakes with their places until the sources are built again", () => {
    const output = new WranglerOutput();
    expect(output.buildError).toBeUndefined();
    for (const line of BROKEN) output.take(line);
    expect(output.buildError).toBe(
      'the Worker cannot be built: Unexpected ";" (src/index.ts:9:10); Could not resolve "./nix.ts" (src/env.ts:1:2)',
    );
    output.take("⎔ Reloading local server...");
    expect(output.buildError).toBeDefined();
    output.take("⎔ Local server updated and ready");
    expect(output.buildError).toBeUndefined();
  });

  it("takes colours away, whatever Wrangler thinks of NO_COLOR", () => {
    expect(new WranglerOutput().take(BROKEN[0] ?? "").text).toBe("✘ [ERROR] Build failed with 2 errors:");
  });
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
    expect(settingsFromEnvironment({ POLICY_CACHE_SECONDS: "5" }, environment)).toEqual({
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
      value: {
        port: 8200,
        data: ".grove/dev",
        fresh: false,
        rootToken: undefined,
        privateHosts: { text: "", blocks: [] },
      },
    });
  });

  it.each([
    [["--port", "65536"], "--port"],
    [["--port=-1"], "--port"],
    [["--data="], "--data"],
    [["--root-token="], "--root-token"],
    [["--root-token", "hvs.x"], "--root-token"],
    [["--allow-private-host", "127.0.0.1:80"], "--allow-private-host"],
    [["extra"], "extra"],
  ])("says what is wrong with %j", (flags, named) => {
    expect(parseDevArguments(flags)).toMatchObject({ ok: false, error: expect.stringContaining(named) });
  });
});
