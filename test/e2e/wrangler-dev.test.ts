import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { copyProject } from "./support/copied-project.ts";
import { call, freePort, killWhole, PROJECT, type Program } from "./support/server.ts";

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

/** Starts `wrangler dev` as anybody would, but for the ports. */
async function start(): Promise<Program & { readonly address: string }> {
  const port = await freePort();
  const ports = ["--port", String(port), "--inspector-port", String(await freePort())];
  const child = spawn(process.execPath, [WRANGLER, "dev", ...ports], { cwd: copy, env });
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

it("serves a fresh clone with plain `wrangler dev`, and continues with its data at the next start", async () => {
  const first = await start();
  const made = await devVars();
  expect(made).toContain("GROVE_SEAL_KEY=");
  expect((await stat(join(copy, ".dev.vars"))).mode & 0o777).toBe(0o600);

  const page = await fetch(`${first.address}/`, { headers: { Accept: "text/html" } });
  expect([page.status, new URL(page.url).pathname]).toEqual([200, "/ui/"]);
  const init = await call(first, "PUT", "/v1/sys/init");
  expect(init.status).toBe(200);
  const token = init.body.root_token as string;

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
