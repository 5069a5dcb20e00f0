import { amount } from "../bench/report/numbers.ts";
import { markdownTable } from "../bench/report/table.ts";
import { BEFORE } from "./before.ts";
import { monthlyBill } from "./bill.ts";
import { billChart, type Chart, growthChart, utilisationChart } from "./charts.ts";
import { firstToBreak, sharedLoads } from "./load.ts";
import type { Release } from "./objects.ts";
import { allCalls, type Calls, END_OF_LONE, OPERATIONS, type OperationName } from "./operations.ts";
import { CEILING, COMFORTABLE } from "./vendor.ts";
import { FLEET, loginsPerSecond, WORLDS, type World } from "./world.ts";

/** docs/scale.md with its pictures, which are expected in `images/` beside it. */
export interface Page {
  readonly text: string;
  readonly charts: readonly Chart[];
}

/** Writes the page; the same sources give the same page. */
export function scalePage(histories: string): Page {
  const charts = [
    utilisationChart("scale-fleet", FLEET),
    growthChart("scale-growth", FLEET),
    billChart("scale-bill", FLEET),
  ];
  const picture = (name: string) => {
    const chart = charts.find((one) => one.name === name);
    return `![${chart?.title}](images/${name}.svg)`;
  };
  const parts = [
    "# Scale",
    INTRODUCTION,
    "## What a request costs",
    "Calls to objects, and rows read and written by them and by what follows from them. Tests measure every line of the column *now*.",
    operationsTable(),
    "## Who carries how much",
    LOADS,
    ...WORLDS.flatMap((world) => [`### ${capital(world.title)}`, assumptions(world), loadTable(world)]),
    picture("scale-fleet"),
    picture("scale-growth"),
    "## 2,000 logins a second through one mount",
    fleetVerdict(),
    "## What breaks first",
    "When everything in a world grows together, this reaches its ceiling first.",
    breakTable(),
    "## What a month costs",
    "The vendor's list prices of the paid plan in US dollars, without what the plan includes. CPU and the time that objects work are estimates; calls and rows are not. Most of it is rows that are written. Those of AccessorShard are mostly the inventory's (`sys/tokens`), which 0.1.0 did not have; the table is of tokens that are alone, without their share of lists of ids and counters, which are written for 128 changes at once (the bill has a row for each change).",
    rowsTable(),
    billTable(),
    picture("scale-bill"),
    "## Histories",
    histories,
    "## How to write this page anew",
    "`npm run scale` takes some seconds. `SEED=7 npm run scale` plays other histories; a seed that breaks a rule is printed.",
  ];
  return { text: `${parts.join("\n\n")}\n`, charts };
}

const INTRODUCTION = `A token tree has an object of its own, and trees can be as many as there are users. What all share is what ends first. This page computes it, from the calls and rows that tests pin
(\`scripts/scale/operations.ts\`), for three worlds on the vendor's network. Nothing here was measured under that load: it is arithmetic, and stands or falls with the ceilings that the
vendor gives for one object, ${amount(CEILING.readsPerSecond)} simple requests a second, or ${amount(CEILING.writesPerSecond)} that write (documented as 200 to 500).
Sources: developers.cloudflare.com, \`durable-objects/platform/limits\`, \`durable-objects/best-practices/rules-of-durable-objects\`, \`durable-objects/platform/pricing\`,
\`workers/platform/pricing\`, read on 2026-11-22. *Before* is Grove 0.1.0, whose objects had not been split by then.`;

const LOADS = `Calls to one object in a second, in a world with these rates; besides requests there are copies of the installation that isolates read every four seconds, the ends of tokens, and tidy.
Trees tell AccessorShard what has changed through their isolate: all news of a second for one shard is one call, counted by how news spread at random over isolates and shards.
Once a second it asks the trees of single tokens that ended for their end: each answer counts as a call that reads. Trees in which a child was made end by their own alarms; no two children are taken to have a tree in common.
An object above ${COMFORTABLE * 100} % has no room for bursts.`;

function operationsTable(): string {
  const rows = (Object.keys(OPERATIONS) as OperationName[]).map((name) => {
    const now = allCalls(name);
    return [OPERATIONS[name].title, shared(BEFORE[name]), shared(now), rowsOf(BEFORE[name]), rowsOf(now)];
  });
  return markdownTable(["request", "shared objects before", "now", "rows before", "now"], rows);
}

/** The calls to objects that others wait for too. */
function shared(calls: Calls): string {
  const counts = new Map<string, number>();
  for (const [method, { times }] of Object.entries(calls)) {
    const type = method.split(".")[0] ?? "";
    if (type !== "TokenTree") counts.set(type, (counts.get(type) ?? 0) + times);
  }
  return [...counts].map(([type, count]) => `${type} ${count}`).join(", ") || "none";
}

function rowsOf(calls: Calls): string {
  const costs = Object.values(calls);
  return `${costs.reduce((sum, one) => sum + one.rowsRead, 0)} / ${costs.reduce((sum, one) => sum + one.rowsWritten, 0)}`;
}

function assumptions({ liveTokens, liveTrees, isolates, mounts, rates }: World): string {
  const lookUps = rates.lookUp + rates.lookUpOfEntity + rates.lookUpOfBatch;
  return `${amount(liveTokens)} tokens in ${amount(liveTrees)} trees, ${amount(isolates)} isolates, ${mounts === 1 ? "1 mount" : `${amount(mounts)} mounts`}; in a second ${amount(lookUps)} look-ups (${amount(rates.lookUpOfEntity + rates.lookUpOfBatch)} of entities that the isolate does not know yet), ${amount(rates.loginByDocument)} logins by document, ${amount(rates.loginBySignature)} by signed request and ${amount(rates.loginForBatch)} for batch tokens, ${amount(rates.createChild + rates.createByRole + rates.createOrphan)} creations, ${amount(rates.renew + rates.renewLogin)} renewals.`;
}

function loadTable(world: World): string {
  const before = new Map(sharedLoads(world, "before").map((load) => [load.type, load]));
  const rows = sharedLoads(world, "now").map((load) => [
    load.type,
    amount(load.objects),
    amount(load.readsPerSecond),
    amount(load.writesPerSecond),
    percent(before.get(load.type)?.utilisation ?? 0),
    percent(load.utilisation),
  ]);
  return markdownTable(["class", "objects", "reads/s each", "writes/s each", "load before", "now"], rows);
}

/** The classes of a world whose objects carry more than is comfortable. */
export function aboveHalf(world: World, release: Release): string[] {
  return sharedLoads(world, release)
    .filter(({ utilisation }) => utilisation > COMFORTABLE)
    .map(({ type }) => type);
}

function fleetVerdict(): string {
  const row = (release: Release) => {
    const above = aboveHalf(FLEET, release);
    const [busiest] = sharedLoads(FLEET, release);
    return [
      release === "before" ? "before" : "now",
      `${amount(loginsPerSecond(FLEET))}/s`,
      busiest ? `${busiest.type}, ${percent(busiest.utilisation)}` : "none",
      above.join(", ") || "none: it holds",
    ];
  };
  return markdownTable(
    ["release", "logins through one mount", "busiest object", "objects above half their ceiling"],
    [row("before"), row("now")],
  );
}

function breakTable(): string {
  const rows = WORLDS.flatMap((world) =>
    (["before", "now"] as const).map((release) => {
      const { type, factor } = firstToBreak(world, release);
      return [
        `${world.title}, ${release === "before" ? "before" : "now"}`,
        type,
        `${amount(factor)}x`,
        `${amount(factor * loginsPerSecond(world))}/s`,
      ];
    }),
  );
  return markdownTable(["world", "first", "at its rates times", "that is logins"], rows);
}

function billTable(): string {
  const rows = WORLDS.flatMap((world) =>
    (["before", "now"] as const).map((release) => {
      const { worker, calls, time, rows: rowCost, storage, total } = monthlyBill(world, release);
      const cells = [worker, calls, time, rowCost, storage, total].map((dollars) => amount(Math.round(dollars)));
      return [`${world.title}, ${release === "before" ? "before" : "now"}`, ...cells];
    }),
  );
  return markdownTable(["world", "Worker", "calls", "time of objects", "rows", "storage", "all"], rows);
}

/** Rows that a token costs from its creation to its end, by the class that writes them. */
function rowsTable(): string {
  const end = (name: OperationName): Calls => (name === "createChild" ? OPERATIONS.revoke.afterwards : END_OF_LONE);
  const life = (name: OperationName): Calls[] => [allCalls(name), end(name)];
  const rows = (["createChild", "createOrphan", "loginByDocument", "loginBySignature"] as const).map((name) => [
    `${OPERATIONS[name].title}, and its end`,
    ...["TokenTree", "AccessorShard"].map((type) =>
      amount(life(name).reduce((sum, calls) => sum + written(calls, type), 0)),
    ),
  ]);
  return markdownTable(["rows written for", "TokenTree", "AccessorShard"], rows);
}

function written(calls: Calls, type: string): number {
  return Object.entries(calls).reduce(
    (sum, [method, { rowsWritten }]) => sum + (method.startsWith(`${type}.`) ? rowsWritten : 0),
    0,
  );
}

function percent(share: number): string {
  return `${amount(share * 100)} %`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
