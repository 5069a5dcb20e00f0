import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { PROJECT, readVariables, settingsFromEnvironment } from "../../../scripts/local/worker-definition.ts";
import { SELF_HOSTED } from "../../../scripts/serve/worker-model.ts";

const read = (path: string) => readFileSync(join(PROJECT, path), "utf8");

/** Every setting that the Worker reads, as the types of its rooms list them. */
const environment = ["src/env.ts", ...globSync(["src/*/env.ts", "src/methods/*/env.ts"], { cwd: PROJECT })]
  .map(read)
  .join("\n");
const settings = [...environment.matchAll(/^ {2}readonly (\w+)\?: string;$/gm)].map(([, name = ""]) => name);

describe("every setting of the Worker", () => {
  it("is explained in docs/operations.md, and nothing else is", () => {
    const list = read("docs/operations.md").split("\n## First start")[0] ?? "";
    // Names stand before the default in parentheses, or before the colon.
    const heads = [...list.matchAll(/^- (`[^(:]*)[(:]/gm)].map(([, head = ""]) => head);
    const named = heads.flatMap((head) => [...head.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
    expect(named.sort()).toEqual(settings.toSorted());
  });

  it("reaches it from the environment of npm run dev and npm run serve", () => {
    const known = readVariables();
    if (!known.ok) throw new Error(known.error);
    const variables = Object.fromEntries(settings.map((name) => [name, `value of ${name}`]));
    const { CLIENT_ADDRESS_HEADER, CLUSTER, ONE_PROCESS, ONE_THREAD, STORED_TOKENS, ...rest } = variables;
    // The gateway in front decides where the address stands, and the program that is started what shares a process or a thread.
    expect(settingsFromEnvironment(known.value, variables)).toEqual(rest);
  });
});

describe("memory that the Worker shares with its objects", () => {
  it("is on under npm run serve, where one process has both", () => {
    expect(SELF_HOSTED.ONE_PROCESS).toBe("true");
  });

  it("is off on Cloudflare's network: no variable of wrangler.toml and no deployment turns it on", () => {
    for (const file of ["wrangler.toml", "scripts/deploy.ts"])
      expect(read(file)).not.toMatch(/ONE_(PROCESS|THREAD)|CLUSTER|STORED_TOKENS/);
  });
});

describe("the environment staging of wrangler.toml", () => {
  it("has every binding and variable of production", async () => {
    const config = join(PROJECT, "wrangler.toml");
    const production = unstable_readConfig({ config, env: "" }, { hideWarnings: true });
    const staging = unstable_readConfig({ config, env: "staging" }, { hideWarnings: true });
    expect(staging.name).toBe("grove-staging");
    expect(staging.durable_objects).toEqual(production.durable_objects);
    expect(staging.migrations).toEqual(production.migrations);
    expect(Object.keys(staging.vars).sort()).toEqual(Object.keys(production.vars).sort());
  });
});
