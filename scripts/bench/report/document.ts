import { type Chart, charts } from "./charts.ts";
import type { Machine } from "./machine.ts";
import { amount } from "./numbers.ts";
import { reasonOf } from "./obstacles.ts";
import { CPU_MS_A_REQUEST, OBJECT_SECONDS_A_CALL, PRICES } from "./price.ts";
import type { PartRun, Report } from "./report.ts";
import { type Section, sections } from "./sections.ts";
import { markdownTable } from "./table.ts";
import { verdicts } from "./verdicts.ts";

/** What goes with each table: the picture, and how to read it. */
const NOTES: Partial<Record<Section["name"], { readonly chart?: string; readonly text: string }>> = {
  operations: {
    chart: "operations",
    text: "Rates of 16 connections, median of the rounds with the least and the greatest. The ratio is taken round by round, so that a machine that slows down for a while slows both sides. CPU is the time of the server process for one request (with that of the gateway, where the request came through it), and the CPU ratio what it would be on a disk that costs nothing: every write waits for the disk once, in Grove as in the bare Worker.",
  },
  against: {
    text: "Grove as clients reach it: workerd and, after the plus, the gateway, with the audit lines written. CPU is that of all server processes for one request, in turns with the other server; a busy machine changes the microseconds, and their ratio much less.",
  },
  "against-audited": {
    text: "The same with audit devices enabled on the other server: both sides then write what Grove always writes.",
  },
  "cpu-shares": {
    text: "Medians in us for one request. What Grove's Worker uses has in it what the runtime does by itself: see the bare Worker beside it, which does the same kind of work on the same workerd, without bodies, keyed hashes and audit lines. Look-ups of a token that the Worker knows make no call, so they can take less than the bare read.",
  },
  cascade: {
    chart: "cascade",
    text: "Half of the connections look up tokens in the tree whose branch was revoked, half tokens in other trees; both as fast as they are answered, in windows of two seconds: the middle of their p99, and the worst.",
  },
  "growth-tree": {
    chart: "growth-tree",
    text: "Rows are those of one request and of what follows from it at once (the sweep of a revoked token). Listing reads a page from each of the 16 shards.",
  },
  "growth-teams": {
    chart: "growth-teams",
    text: "Pages from the middle of the lists.",
  },
  "growth-forest": {
    chart: "growth-forest",
    text: "The operations go to one tree while the installation has that many.",
  },
  load: {
    chart: "memory",
    text: "Through the gateway, as fast as it is answered: look-ups, whole lives of tokens in one tree and of trees of their own, and one request in a hundred bad. Then, on `npm run serve` as a whole, far more connections than the server can serve, and bodies of 200 kB.",
  },
  cost: {
    text: "Rows, calls and objects of one request and of what follows from it (the sweep of a revoked or expired token), each index entry counted as the row that it is billed as.",
  },
  forest: {
    text: "Questions of an operator about all tokens, each answered by one call: median of 15, one after the other, and the rows that all objects together read for it. Shards are 16 objects that answer side by side on the network and one after the other on one machine.",
  },
  "bulk-revocation": {
    text: "`sys/tokens/revoke` with the policy that half of the tokens have; workerd is killed with SIGKILL in the middle and started again. Afterwards the first tokens of 300 trees are asked for.",
  },
  ending: {
    text: "`sys/leases/revoke-prefix/auth/aws`, and `DELETE sys/auth/aws`, of a mount whose logins and what hangs on them are so many tokens: one call each, beside the median of revoking 15 leaves. Before and right after the answer the first tokens of 60 trees are asked for. Then tokens of other trees are looked up as fast as that is answered, in windows of two seconds, until the ended tokens are off the lists or the watching ends.",
  },
  console: {
    text: "Chromium on the same machine, a new profile each time, through the gateway: from the call of the page or the click to the picture, median of seven. Of inputs that ask nothing of the server the browser's own time is shown, from the event to the next picture.",
  },
  files: {
    text: "Tokens without a parent, made and revoked: the tree of one that has ended is taken by a later one, so what counts is how many there are at a time. Ids that are handed out and not used come to it.",
  },
  anonymous: {
    text: "Requests that anybody may send, as large or as odd as they are let in, beside a login of a machine: CPU time of the server process for one.",
  },
};

/** docs/performance.md. The pictures are expected in `performance/` beside it. */
export function renderDocument(report: Report): string {
  const pictures = charts(report);
  const all = verdicts(report);
  const missed = all.filter(({ met }) => !met).length;
  const newest = newestRun(report);
  const parts = [
    "# Performance",
    "Figures of a self-hosted Grove (`npm run serve`'s build under workerd) beside a bare Worker: the same workerd, and as little code as does the same " +
      "kind of work. What one costs of the other tells about Grove; the absolute figures tell about the machine.",
    `Written by \`npm run bench -- --write\`, which replaces the parts that it runs: each says when it was measured. ${
      missed === 0 ? `All ${all.length} targets are met.` : `${all.length - missed} of ${all.length} targets are met.`
    }`,
    ...(newest ? [machineTable(newest.machine)] : []),
    ...sections(report).flatMap((section) => [
      ...renderSection(section, report, pictures),
      ...(section.name === "cost" ? [formula()] : []),
    ]),
    ...missedTargets(report),
    HOW,
    ...durations(report),
  ];
  return `${parts.join("\n\n")}\n`;
}

function newestRun({ runs }: Report): PartRun | undefined {
  return Object.values(runs).toSorted((a, b) => (a.date < b.date ? 1 : -1))[0];
}

/** When and how a part was measured. */
function provenance(run: PartRun, newest: PartRun | undefined): string {
  const { date, commit, rounds, seconds, machine } = run;
  const { processor, cores, memoryGiB, workerd } = machine;
  const known = newest?.machine;
  const same = known?.processor === processor && known.cores === cores && known.memoryGiB === memoryGiB;
  return [
    `Measured on ${date.slice(0, 10)}`,
    ...(commit === "" ? [] : [`commit ${commit}`]),
    `${rounds} rounds of ${amount(seconds)} s`,
    `a small write with fsync took ${amount(machine.syncMs)} ms`,
    ...(same ? [] : [`on another machine (${processor}, ${cores} cores, ${memoryGiB} GiB)`]),
    ...(known?.workerd === workerd ? [] : [workerd]),
  ].join(", ");
}

/** The targets that were missed, each with the reason. */
function missedTargets(report: Report): string[] {
  const missed = verdicts(report).filter(({ met }) => !met);
  if (missed.length === 0) return [];
  const lines = missed.map(({ what, target, got, obstacle }) => {
    const reason = obstacle === undefined ? "" : `. What stands in the way: ${reasonOf(obstacle, report)}`;
    return `- ${what}: ${got}, ${target} wanted${reason}`;
  });
  return ["### Targets that are missed", lines.join("\n")];
}

function machineTable(machine: Machine): string {
  return markdownTable(
    ["machine", ""],
    [
      ["processor", `${machine.processor}, ${machine.cores} cores`],
      ["memory", `${machine.memoryGiB} GiB`],
      ["system", machine.system],
      ["disk", machine.disk],
      ["Node, workerd", `${machine.node}, ${machine.workerd}`],
    ],
  );
}

function renderSection(section: Section, report: Report, pictures: readonly Chart[]): string[] {
  const note = NOTES[section.name];
  const picture = pictures.find(({ name }) => name === note?.chart);
  const run = section.part && report.runs[section.part];
  return [
    `## ${section.title}`,
    ...(run ? [`${provenance(run, newestRun(report))}.`] : []),
    ...(note ? [note.text] : []),
    ...(picture ? [`![${picture.title}](performance/${picture.name}.svg)`] : []),
    markdownTable(section.header, section.rows),
  ];
}

/** How long the parts took, for whoever wants to run some of them. */
function durations({ runs }: Report): string[] {
  const rows = Object.entries(runs).flatMap(([part, { tookSeconds, rounds, seconds }]) =>
    tookSeconds === undefined || part.startsWith("against")
      ? []
      : [[part, amount(tookSeconds), `${rounds} rounds of ${amount(seconds)} s`]],
  );
  return rows.length === 0 ? [] : [markdownTable(["part", "took, s", "with"], rows)];
}

function formula(): string {
  const { workerRequest, workerCpuMs, objectRequest, rowRead, rowWritten, objectGbSecond } = PRICES;
  return `The price of a million of an operation, in dollars, by the vendor's list for the paid plan and without what the plan includes:

\`\`\`
${workerRequest}                        a million requests to the Worker
+ ${workerCpuMs} * ${CPU_MS_A_REQUEST}                 CPU milliseconds, taken as ${CPU_MS_A_REQUEST} a request
+ ${objectRequest} * calls            requests to objects, alarms that fire among them
+ ${objectGbSecond} * 0.128 * ${OBJECT_SECONDS_A_CALL} * calls   GB-seconds of objects, taken as ${OBJECT_SECONDS_A_CALL * 1000} ms a call
+ ${rowRead} * rows read
+ ${rowWritten} * (rows written + alarms set)
\`\`\`

A month is 30 days of a million of them. Storage is $0.20 a GB and month; a token takes about 1 kB, a tree of its own about 16 kB.`;
}

const HOW = `## How to run it

\`\`\`
npm run bench                                   # everything, more than an hour
npm run bench -- --quick                        # a minute or two, to see that it works
npm run bench -- --only lookup,renew --rounds 9
npm run bench -- --only load --load-seconds 600 # the long load
npm run bench -- --only cascade,files --write   # measures two parts anew, for this page
npm run bench -- --only operations --against http://127.0.0.1:8300 TOKEN --pid PID
npm run bench:kill                              # kills the server again and again and looks for lost answers
\`\`\`

\`--against\` adds a table of ratios to another server with the same API; with \`--pid\`, the process of that server on this machine, also of the CPU that both
sides use for a request. Grove is measured there as clients reach it, through the gateway, and both its processes count. A server with audit devices
gets a table of its own, so that \`--write\` keeps the figures of both.

\`--write\` keeps the figures of every part in \`docs/performance/figures.json\` and makes the whole page from them. \`--dir\` chooses the disk; \`--json\` prints everything that was measured. The load client is a process of its own; with the server that makes two busy
processes, with the gateway three, so a machine with fewer cores measures their quarrel too.`;
