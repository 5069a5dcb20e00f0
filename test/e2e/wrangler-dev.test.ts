import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { copyProject } from "./support/copied-project.ts";
import { call, killWhole, PROJECT, type Program, wordsOf } from "./support/server.ts";

const WRANGLER = join(PROJECT, "node_modules/wrangler/bin/wrangler.js");

let copy: string;
let env: NodeJS.ProcessEnv;

beforeAll(() => {
  copy = copyProject();
  env = {
    ...process.env,
    // Nothing is asked of the network, and no other Worker on this machine finds this one.
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_REGISTRY_PATH: join(copy, "registry"),
  };
});

afterAll(async () => {
  await rm(copy, { recursive: true, force: true });
});

const INIT_TOKEN = "the-init-token-of-this-deployment";
const START = `root_token_file = "root-token"
initialize "one" {
  request "policy" {
    operation = "update"
    path      = "sys/policies/acl/declared"
    data      = { policy = "path \\"a\\" { capabilities = [\\"read\\"] }" }
  }
}`;

/** Initializes the Worker with what a file declares, and returns the root token that it keeps. */
async function initialize({ address }: { readonly address: string }): Promise<string> {
  await writeFile(join(copy, "start.hcl"), START);
  const words = [...wordsOf("grove"), "init", join(copy, "start.hcl")];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words, {
    env: { ...process.env, VAULT_ADDR: address, VAULT_TOKEN: INIT_TOKEN },
  });
  expect(stdout + stderr).toContain("the root token is in");
  return (await readFile(join(copy, "root-token"), "utf8")).trim();
}

/** Starts `wrangler dev` as anybody would, but for the ports and what `vars` say. */
async function start(vars: readonly string[] = []): Promise<Program & { readonly address: string }> {
  const port = await freePort();
  const ports = ["--port", String(port), "--inspector-port", String(await freePort())];
  const child = spawn(process.execPath, [WRANGLER, "dev", ...ports, ...vars], { cwd: copy, env });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      written += text;
    });
  }
  const exited = once(child, "close").then(([code]) => code as number | null);
  const program = { child, output: () => written, exited, address: `http://127.0.0.1:${port}` };
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await killWhole(program);
  });
  await expect.poll(program.output, { interval: 200 }).toContain("Ready on");
  return program;
}

async function stop(program: Program): Promise<void> {
  program.child.kill("SIGTERM");
  await program.exited;
}

const devVars = () => readFile(join(copy, ".dev.vars"), "utf8");

it("serves a fresh clone with plain `wrangler dev`, starts from a file by `grove init`, and continues with its data at the next start", async () => {
  const first = await start(["--var", `GROVE_INIT_TOKEN:${INIT_TOKEN}`]);
  const made = await devVars();
  expect(made).toContain("GROVE_SEAL_KEY=");
  expect((await stat(join(copy, ".dev.vars"))).mode & 0o777).toBe(0o600);

  const page = await fetch(`${first.address}/`, { headers: { Accept: "text/html" } });
  expect([page.status, new URL(page.url).pathname]).toEqual([200, "/ui/"]);
  const token = await initialize(first);
  const policy = await call(first, "GET", "/v1/sys/policies/acl/declared", { token });
  expect(policy.status).toBe(200);

  const tidy = async ({ address }: { address: string }) =>
    (await call({ address }, "GET", "/v1/auth/token/tidy-status", { token })).body.data as { state: string };
  expect(await tidy(first)).toMatchObject({ state: "never run" });
  expect((await fetch(`${first.address}/cdn-cgi/local/scheduled`)).status).toBe(200);
  await expect.poll(() => tidy(first)).toMatchObject({ state: "finished" });
  await stop(first);

  const second = await start();
  expect(await devVars()).toBe(made);
  expect((await call(second, "GET", "/v1/auth/token/lookup-self", { token })).status).toBe(200);
  expect(await tidy(second)).toMatchObject({ state: "finished" });
  await stop(second);
});

it("uploads nothing of .dev.vars in a deployment", async () => {
  const words = [WRANGLER, "deploy", "--env=", "--dry-run", "--outdir", "uploaded"];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: copy, env });
  expect(stdout).toContain("POLICY_CACHE_SECONDS");
  expect(stdout).not.toContain("GROVE_SEAL_KEY");
  const key = /1:[^']+/.exec(await devVars())?.[0] ?? "";
  expect(key).toHaveLength(46);
  const uploaded = join(copy, "uploaded");
  for (const name of await readdir(uploaded)) expect(await readFile(join(uploaded, name), "utf8")).not.toContain(key);
});
