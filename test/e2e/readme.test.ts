import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startDev } from "./support/server.ts";

const run = promisify(execFile);
/** In the README it stands for what differs every time. */
const ANYTHING = "…";

interface Step {
  readonly command: string;
  readonly output: string;
}

/** The commands of the tour with the output that is printed below each. */
function tour(): Step[] {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
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
