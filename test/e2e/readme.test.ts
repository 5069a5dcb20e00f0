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

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");

/** The commands of the tour with the output that is printed below each. */
function tour(): Step[] {
  const steps: Step[] = [];
  for (const [, block = ""] of readme.matchAll(/```console\n([\s\S]*?)```/g)) {
    for (const part of block.split(/^\$ /m).slice(1)) {
      const [command = "", ...output] = part.split("\n");
      steps.push({ command, output: output.join("\n").trim() });
    }
  }
  return steps;
}

function pattern(output: string): RegExp {
  const literal = output.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${literal.join("[^,]+")}$`);
}

describe("the tour of the README", () => {
  let server: RunningServer;
  const exported: Record<string, string> = {};

  beforeAll(async () => {
    server = await startDev();
  });
  afterAll(() => server.stop());

  for (const { command, output } of tour()) {
    it(command.slice(0, 90), async () => {
      const script = `${command}\necho; env -0 | grep -z '^JOB=' | tr '\\0' '\\n' || true`;
      const { stdout } = await run("bash", ["-c", script], {
        env: { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken, ...exported },
      });
      const [printed = "", job] = stdout.split(/\n(?=JOB=)/);
      if (job) exported.JOB = job.trim().slice("JOB=".length);
      expect(printed.trim()).toMatch(pattern(output));
    });
  }
});

describe("the login from the cloud of the README", () => {
  const ACCOUNT = "123456789012";
  const cloud = new FakeCloud();
  let cloudServer: CloudServer;
  let server: RunningServer;

  beforeAll(async () => {
    cloudServer = await serveCloud(cloud);
    server = await startDev({ env: { ALLOW_PRIVATE_ENDPOINTS: "true" } });
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
    const section = /## Log in from the cloud\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? "";
    const [operator = "", machine = "", ...others] = [...section.matchAll(/```\n([\s\S]*?)```/g)].map(
      ([, block = ""]) => block,
    );
    expect(others).toHaveLength(1);
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
  });
});
