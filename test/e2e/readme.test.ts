import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { call, type RunningServer, startDev } from "./support/server.ts";

const run = promisify(execFile);
/** In the README it stands for what differs every time. */
const ANYTHING = "…";

interface Step {
  readonly command: string;
  readonly output: string;
}

const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");
/** Printed between the outputs of two commands. */
const MARK = "--- next ---";

/** The commands of the tour with the output that is printed below each. */
function tour(): Step[] {
  const steps: Step[] = [];
  for (const [, block = ""] of read("README.md").matchAll(/```console\n([\s\S]*?)```/g)) {
    for (const part of block.split(/^\$ /m).slice(1)) {
      const [command = "", ...output] = part.split("\n");
      steps.push({ command, output: output.join("\n").trim() });
    }
  }
  return steps;
}

function pattern(output: string): RegExp {
  const literal = output.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join("[^]+")}$`);
}

describe("the tour of the README", () => {
  const steps = tour();
  let outputs: string[];

  beforeAll(async () => {
    const server = await startDev();
    // One shell for all, as a reader has one.
    const script = steps.map(({ command }) => `${command}\necho; echo "${MARK}"`).join("\n");
    const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken };
    const { stdout } = await run("bash", ["-c", script], { env }).finally(() => server.stop());
    outputs = stdout.split(MARK).map((output) => output.trim());
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
    server = await startDev({ flags: ["--allow-private-host=127.0.0.1"] });
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
