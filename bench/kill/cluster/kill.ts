import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BucketEmulator } from "../../../test/support/bucket.ts";
import { violationsOf } from "../../history/check.ts";
import { temporaryDirectory } from "../../servers/serve.ts";
import type { Choices } from "../writer.ts";
import { Clients } from "./clients.ts";
import { FAULTS } from "./faults.ts";
import { LEASE_MS, Node, SECRETS, TIME_DIVISOR } from "./nodes.ts";

const NODES = ["node-1", "node-2", "node-3"];
/** Longest time between two faults (ms). */
const MAX_CALM_MS = 2_000;

/** Parameters of a run. */
export interface ClusterKill {
  /** Number of faults. */
  readonly rounds: number;
  /** No fault begins after this time (minutes). */
  readonly minutes: number;
  readonly directory: string | undefined;
  readonly choices: Choices;
  readonly say: (line: string) => void;
}

/** Runs three nodes and clients, causes one fault after the other, and checks the history. @returns the exit code */
export async function killCluster({ rounds, minutes, directory, choices, say }: ClusterKill): Promise<number> {
  const bucket = await BucketEmulator.start();
  const data = temporaryDirectory("cluster", directory);
  const nodes = await Promise.all(NODES.map((name) => Node.make(name, data, bucket)));
  const [first, ...others] = nodes;
  // The first one builds the Worker and makes the installation.
  await first?.start();
  await Promise.all(others.map((node) => node.start()));
  const clients = new Clients(() => nodes.map(({ url }) => url), SECRETS.GROVE_DEV_ROOT_TOKEN, choices);
  const running = clients.run();

  const names = Object.keys(FAULTS);
  const done = new Map<string, { count: number; longestMs: number }>();
  const until = performance.now() + minutes * 60_000;
  let count = 0;
  while (count < rounds && performance.now() < until) {
    await pause(choices.below(MAX_CALM_MS));
    const name = names[choices.below(names.length)] ?? "";
    const victim = nodes[choices.below(nodes.length)];
    if (!victim) break;
    clients.longestMs = 0;
    await FAULTS[name]?.({ victim, bucket });
    // Requests that began during the fault end within a lease.
    await pause(LEASE_MS);
    count++;
    const figures = done.get(name) ?? { count: 0, longestMs: 0 };
    done.set(name, { count: figures.count + 1, longestMs: Math.max(figures.longestMs, clients.longestMs) });
    say(`${count} of ${rounds}: ${name} (${victim.name})`);
  }
  clients.stop();
  await running;
  say("using every token once more");
  await clients.useAll();
  await Promise.all(nodes.map((node) => node.stop()));
  await bucket.close();

  const violations = violationsOf(clients.history);
  for (const violation of violations.slice(0, 20)) say(`BROKEN: ${violation}`);
  if (violations.length > 0) {
    // It names tokens by numbers and has no secret.
    const file = join(tmpdir(), `grove-history-${process.pid}.jsonl`);
    writeFileSync(file, clients.history.map((event) => `${JSON.stringify(event)}\n`).join(""));
    say(`the history is in ${file}`);
  }
  for (const [line, times] of clients.surprises) say(`UNEXPECTED: ${line} (${times} times)`);
  const creations = clients.history.filter(({ kind }) => kind === "create").length;
  process.stdout.write(`${count} faults, leases of ${20 / TIME_DIVISOR} s: ${violations.length} violations\n`);
  process.stdout.write(
    `${clients.requests} requests, ${clients.unanswered} without an answer or 503; ${creations} tokens; ${clients.history.length} events\n`,
  );
  for (const [name, { count: times, longestMs }] of done) {
    process.stdout.write(`${name}: ${times}, longest request ${(longestMs / 1000).toFixed(1)} s\n`);
  }
  return violations.length === 0 && clients.surprises.size === 0 ? 0 : 1;
}
