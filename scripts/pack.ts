import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readWords, runCommand } from "./local/command-line.ts";
import { PROJECT } from "./local/worker-definition.ts";
import { packClient } from "./package/client.ts";
import { describeContents } from "./package/sbom.ts";
import { packServer } from "./package/server.ts";

const HELP = `Usage: npm run pack

Packs the server and the client into dist/packages, with a list of what the server contains (SBOM) and the SHA-256 of each
file.

Example:
  npm run -s pack
`;

const TARGET = join(PROJECT, "dist/packages");
const SBOM = "sbom.cdx.json";

const say = (line: string): void => console.error(`pack: ${line}`);

async function pack(): Promise<number> {
  const made = mkdtempSync(join(tmpdir(), "grove-packages-"));
  const directory = (name: string): string => {
    const path = join(made, name);
    mkdirSync(path);
    return path;
  };
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  const server = await packServer(directory("server"), TARGET);
  if (server.ok) {
    const files = [server.value, packClient(directory("client"), TARGET), SBOM];
    writeFileSync(join(TARGET, SBOM), describeContents(directory("sbom")));
    const digest = (name: string) =>
      createHash("sha256")
        .update(readFileSync(join(TARGET, name)))
        .digest("hex");
    writeFileSync(join(TARGET, "SHA256SUMS"), files.map((name) => `${digest(name)}  ${name}\n`).join(""));
  }
  rmSync(made, { recursive: true });
  say(server.ok ? "dist/packages" : server.error);
  return server.ok ? 0 : 1;
}

process.exit(await runCommand(readWords(process.argv.slice(2), {}), HELP, say, pack));
