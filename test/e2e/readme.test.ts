import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { call, type RunningServer, startDev, startServe } from "./support/server.ts";

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, "../..");
/** In a page it stands for what differs every time. */
const ANYTHING = "…";

interface Step {
  readonly command: string;
  readonly output: string;
}

const read = (path: string) => readFileSync(join(PROJECT, path), "utf8");
/** Printed between the outputs of two commands. */
const MARK = "--- next ---";

/** The blocks of a page in this language; "": those that name none. */
function blocksOf(page: string, language: string): string[] {
  const blocks = [...read(page).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([, named, block = ""]) => (named === language ? [block] : []));
}

/** The commands of a page with the output that is printed below each. */
function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  for (const block of blocksOf(page, "console")) {
    for (const part of block.split(/^\$ /m).slice(1)) {
      const [command = "", ...output] = part.split("\n");
      steps.push({ command, output: output.join("\n").trim() });
    }
  }
  return steps;
}

/** Runs the commands in one shell, as a reader has one. Returns what a terminal would show of each. */
async function outputsOf(steps: readonly Step[], options: { cwd?: string; env: NodeJS.ProcessEnv }): Promise<string[]> {
  const script = ["exec 2>&1", ...steps.map(({ command }) => `${command}\necho; echo "${MARK}"`)].join("\n");
  const { stdout } = await run("bash", ["-c", script], options);
  return stdout.split(MARK).map((output) => output.trim());
}

function pattern(output: string): RegExp {
  const literal = output.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join("[^]+")}$`);
}

describe("the README in a fresh clone", () => {
  const steps = stepsOf("README.md");
  const [start = "", keep = "", ...others] = blocksOf("README.md", "");
  const root = mkdtempSync(join(tmpdir(), "grove-readme-"));
  const clone = join(root, "grove");
  // As in a shell that npm did not start. Packages that this machine has are not downloaded again.
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    npm_config_prefer_offline: "true",
    WRANGLER_REGISTRY_PATH: join(root, "registry"),
  };
  let dev: ChildProcess;
  let said = "";

  beforeAll(async () => {
    // What is not committed yet belongs to it.
    const { stdout } = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: PROJECT,
      maxBuffer: 2 ** 24,
    });
    for (const name of stdout.split("\0").filter((name) => name !== "" && existsSync(join(PROJECT, name)))) {
      cpSync(join(PROJECT, name), join(clone, name));
    }
    // Another server may have the usual port.
    const block = start.replace("npm run dev", "npm run dev -- --port=0");
    dev = spawn("bash", ["-ec", block], { cwd: clone, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    await new Promise<void>((resolve, reject) => {
      for (const stream of [dev.stdout, dev.stderr]) {
        stream?.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          if (said.includes("Ctrl-C stops it")) resolve();
        });
      }
      dev.once("close", () => reject(new Error(said)));
    });
  });

  afterAll(async () => {
    if (dev?.pid !== undefined && dev.exitCode === null) {
      const closed = once(dev, "close");
      // Ctrl-C.
      process.kill(-dev.pid, "SIGINT");
      await closed;
    }
    rmSync(root, { recursive: true, force: true });
  });

  it("installs without warnings and says where it listens", () => {
    expect(others).toEqual([]);
    expect(said).not.toMatch(/warn/i);
    expect(said).toMatch(/^ {2}Console {6}http:\/\/127\.0\.0\.1:\d+\/ui\/$/m);
  });

  it("contains a leaked token", async () => {
    const exports = Object.fromEntries(
      [...said.matchAll(/^ {2}export (\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value] as const),
    );
    expect(Object.keys(exports)).toEqual(["VAULT_ADDR", "VAULT_TOKEN"]);
    const outputs = await outputsOf(steps, { cwd: clone, env: { ...env, ...exports } });
    for (const [at, { output }] of steps.entries()) expect(outputs[at]).toMatch(pattern(output));
  });

  it("makes an installation of the packed release", async () => {
    const { stderr } = await run("bash", ["-ec", keep], { cwd: clone, env });
    expect(stderr).not.toMatch(/warn/i);
    const binary = join(root, "my-grove/node_modules/.bin/grove");
    const { stdout } = await run(process.execPath, [binary, "--help"], { cwd: join(root, "my-grove") });
    expect(stdout).toContain("Usage: grove COMMAND");
  });
});

describe("the tour", () => {
  const steps = stepsOf("docs/tour.md");
  let outputs: string[];

  beforeAll(async () => {
    const server = await startDev();
    const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken };
    outputs = await outputsOf(steps, { env }).finally(() => server.stop());
  });

  it("has steps", () => expect(steps.length).toBeGreaterThan(15));

  it.each(steps)("$command", ({ command, output }) => {
    expect(outputs[steps.findIndex((step) => step.command === command && step.output === output)]).toMatch(
      pattern(output),
    );
  });
});

describe("docs/cloud-login.md", () => {
  const ACCOUNT = "123456789012";
  const cloud = new FakeCloud();
  let cloudServer: CloudServer;
  let server: RunningServer;

  beforeAll(async () => {
    cloudServer = await serveCloud(cloud);
    server = await startServe({ flags: ["--allow-private-host=127.0.0.1"] });
  });
  afterAll(async () => {
    await server?.stop();
    await cloudServer?.close();
  });

  /** Runs a block of shell lines with what is only an example in them replaced. Returns what it prints. */
  async function runBlock(block: string, replacements: readonly (readonly [string, string])[]): Promise<string> {
    const script = replacements.reduce((text, [example, real]) => text.replaceAll(example, real), block);
    const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken };
    return (await run("bash", ["-euc", script], { env })).stdout;
  }

  it("works as it is printed, for an operator and for a machine", async () => {
    const blocks = read("docs/cloud-login.md").matchAll(/```\n([\s\S]*?)```/g);
    const [operator = "", machine = "", ...others] = [...blocks].map(([, block = ""]) => block);
    expect(others).toHaveLength(2);
    cloud.world.addRole(ACCOUNT, "ci");
    const key = cloud.world.addKey(cloud.world.addUser(ACCOUNT, "grove"));
    const { endpoint } = cloudServer;
    // Where the cloud is, and whom it signs documents with, is what differs from the real one.
    const signer = new DocumentSigner();
    const token = server.rootToken;
    const write = (path: string, body: unknown) => call(server, "POST", `/v1/auth/aws/${path}`, { token, body });
    const [mounting = "", ...rest] = operator.split(/(?<=\n)/);
    expect(await runBlock(mounting, [])).toBe("");
    await write("config/client", { endpoint, iam_endpoint: endpoint, sts_endpoint: endpoint, sts_region: "us-east-1" });
    await write("config/certificate/test", { aws_public_cert: signer.pem });
    const keys = [
      ["AKIA…", key.id],
      ['"…"', JSON.stringify(key.secret)],
    ] as const;
    expect(await runBlock(rest.join(""), keys)).toBe("");

    const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(ACCOUNT, "eu-west-1")));
    cloud.metadataPages.set("/latest/dynamic/instance-identity/rsa2048", pkcs7.replace(/.{64}/g, "$&\n"));
    const printed = await runBlock(machine, [["http://169.254.169.254", endpoint]]);
    expect(JSON.parse(printed).auth.policies).toEqual(["default", "web"]);

    const explained = JSON.parse(await runBlock(others[1] ?? "", []));
    expect(explained.data).toMatchObject({ allowed: expect.any(Boolean), checks: expect.any(Array) });
  });
});
