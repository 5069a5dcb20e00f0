import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import project from "../package.json" with { type: "json" };
import { isOfAnother, newestBackup } from "./backup/newest.ts";
import { helpAsCalled, runCommand } from "./local/command-line.ts";
import { trustAuthorityIn } from "./local/server-authority.ts";
import { findWorkerd } from "./local/workerd-program.ts";
import { NODE_FILE } from "./serve/cluster/join-cluster.ts";
import { HELP, parseUpgradeArguments, type UpgradeCommand } from "./upgrade/arguments.ts";
import { checkUpgrade, type Situation } from "./upgrade/upgrade-checks.ts";

const ANSWER_MS = 10_000;

const say = (line: string): void => console.error(`upgrade: ${line}`);

async function healthAt(
  address: string,
): Promise<Pick<Situation, "theirs" | "sealed"> & { readonly clusterId: string | null }> {
  try {
    const response = await fetch(new URL("/v1/sys/health", address), { signal: AbortSignal.timeout(ANSWER_MS) });
    const answer = (await response.json()) as Record<string, never>;
    const { grove_version: theirs = null, sealed = false, cluster_id: clusterId = null } = answer;
    return { theirs, sealed, clusterId };
  } catch {
    return { theirs: null, sealed: false, clusterId: null };
  }
}

function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function check({ data, backups, maxAgeMs, address }: UpgradeCommand): Promise<number> {
  if (existsSync(join(data, NODE_FILE))) {
    say(helpAsCalled(`${data} is of a node of a cluster: restart one node after the other (docs/cluster.md)`));
    return 1;
  }
  if (!existsSync(join(data, "installation-id"))) {
    say(`${data} is no data directory of a server`);
    return 1;
  }
  const trusted = trustAuthorityIn(process.env);
  if (!trusted.ok) {
    say(trusted.error);
    return 2;
  }
  const { bavail, bsize } = statfsSync(data);
  const { clusterId, ...health } = await healthAt(address);
  const newest = newestBackup(backups);
  const workerd = findWorkerd();
  const findings = await checkUpgrade({
    ours: project.version,
    engineProblem: workerd.ok ? null : workerd.error,
    ...health,
    address,
    backup: newest && { ...newest, isOfAnother: isOfAnother(backups, newest, { data, clusterId }) },
    maxBackupAgeMs: maxAgeMs,
    sealKey: process.env.GROVE_SEAL_KEY,
    previousSealKey: process.env.GROVE_SEAL_KEY_PREVIOUS,
    dataBytes: sizeOf(join(data, "objects")),
    freeBytes: bavail * bsize,
    now: Date.now(),
  });
  for (const { about, isFault, text } of findings)
    console.log(`${isFault ? "FAULT" : "ok   "}  ${about}: ${helpAsCalled(text)}`);
  const isClear = findings.every(({ isFault }) => !isFault);
  console.log(
    isClear
      ? helpAsCalled(
          "Go on: stop the server, start this release on the same data. Back: start the old release on the same data, or restore the backup (docs/upgrading.md).",
        )
      : "Not now: nothing was changed.",
  );
  return isClear ? 0 : 1;
}

process.exitCode = await runCommand(parseUpgradeArguments(process.argv.slice(2), process.env), HELP, say, check);
