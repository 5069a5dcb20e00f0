import { setTimeout as pause } from "node:timers/promises";
import { BucketEmulator } from "../../../test/support/bucket.ts";
import { temporaryDirectory } from "../../servers/serve.ts";
import { AnswerLines } from "../changes.ts";
import { Clients } from "../clients/clients.ts";
import { type HistoryRun, reportHistory } from "../clients/report.ts";
import { buildMovedClock, Clock } from "./clock.ts";
import { FAULTS } from "./faults.ts";
import { LEASE_MS, Node, SECRETS, TIME_DIVISOR } from "./nodes.ts";

/** The nodes with the offsets of their clocks (ms); negative: behind. */
const NODES = { "node-1": 0, "node-2": 400, "node-3": -400 };
/** Longest time between two faults (ms). */
const MAX_CALM_MS = 2_000;

/** Runs three nodes and clients, causes one fault after the other, and checks the history. @returns the exit code */
export async function killCluster({ rounds, minutes, directory, choices, say }: HistoryRun): Promise<number> {
  const bucket = await BucketEmulator.start();
  const data = temporaryDirectory("cluster", directory);
  const movedClock = buildMovedClock(data);
  if (movedClock === null) say("no clock is moved: that needs Linux and a C compiler");
  const stream = new AnswerLines();
  const nodes = await Promise.all(
    Object.entries(NODES).map(([name, aheadMs]) => {
      return Node.make(name, new Clock(movedClock, data, name, aheadMs), data, bucket, (line) => stream.note(line));
    }),
  );
  const [first, ...others] = nodes;
  // The first node builds the Worker and initializes the installation.
  await first?.start();
  await Promise.all(others.map((node) => node.start()));
  const clients = new Clients(
    { urls: () => nodes.map(({ url }) => url), rootToken: SECRETS.GROVE_DEV_ROOT_TOKEN, mayLackWorker: false },
    choices,
  );
  const running = clients.run();

  const names = process.env.ONLY
    ? process.env.ONLY.split("+")
    : Object.keys(FAULTS).filter((name) => movedClock !== null || !name.includes("clock"));
  const done = new Map<string, { count: number; longestMs: number }>();
  const until = performance.now() + minutes * 60_000;
  let count = 0;
  while (count < rounds && performance.now() < until) {
    await pause(choices.below(MAX_CALM_MS));
    const name = names[choices.below(names.length)] ?? "";
    const victim = nodes[choices.below(nodes.length)];
    if (!victim) break;
    clients.recorder.longestMs = 0;
    await FAULTS[name]?.({ victim, bucket });
    // Requests that began during the fault end within the time of a lease.
    await pause(LEASE_MS);
    count++;
    const figures = done.get(name) ?? { count: 0, longestMs: 0 };
    done.set(name, { count: figures.count + 1, longestMs: Math.max(figures.longestMs, clients.recorder.longestMs) });
    say(`${count} of ${rounds}: ${name} (${victim.name})`);
  }
  clients.stop();
  await running;
  say("using every token once more");
  await clients.useAll();
  await clients.recorder.checkRecords(stream);
  await Promise.all(nodes.map((node) => node.stop()));
  await bucket.close();

  process.stdout.write(`${count} faults, leases of ${20 / TIME_DIVISOR} s\n`);
  const problems = reportHistory(clients.recorder, say);
  for (const [name, { count: times, longestMs }] of done) {
    process.stdout.write(`${name}: ${times}, longest request ${(longestMs / 1000).toFixed(1)} s\n`);
  }
  return problems === 0 ? 0 : 1;
}
