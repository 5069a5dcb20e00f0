import { amount, markdownTable } from "../docs/page.ts";
import { monthlyBill, pricePerMillion } from "./bill.ts";
import { classOf, firstToBreak, overloaded, sharedLoads } from "./load.ts";
import { allCalls, type Calls, END_OF_LONE, OPERATION_NAMES, OPERATIONS, type OperationName } from "./operations.ts";
import { FLEET, loginsPerSecond, WORLDS, type World } from "./world.ts";

/** The tables of docs/scale.md by the names of their places. The same sources give the same tables. */
export function scaleTables(): Record<string, string> {
  return { requests: requestTable(), worlds: worldSections(), fleet: fleetTable(), ceilings: breakTable(), ...bills() };
}

/** What each request costs: calls to objects that others wait for too, rows, and dollars. */
function requestTable(): string {
  const rows = OPERATION_NAMES.map((name) => {
    const calls = allCalls(name);
    const [read, written] = [rowsOf(calls, "rowsRead"), rowsOf(calls, "rowsWritten")];
    return [OPERATIONS[name].title, sharedCalls(calls), `${read} / ${written}`, pricePerMillion(name).toFixed(2)];
  });
  return markdownTable(["request", "calls to shared objects", "rows read / written", "$ a million"], rows);
}

function sharedCalls(calls: Calls): string {
  const counts = new Map<string, number>();
  for (const [method, { times }] of Object.entries(calls)) {
    const type = classOf(method);
    if (type !== "TokenTree") counts.set(type, (counts.get(type) ?? 0) + times);
  }
  return [...counts].map(([type, count]) => `${type} ${count}`).join(", ") || "none";
}

function rowsOf(calls: Calls, kind: "rowsRead" | "rowsWritten", type = ""): number {
  return Object.entries(calls).reduce((sum, [method, one]) => sum + (method.startsWith(type) ? one[kind] : 0), 0);
}

function worldSections(): string {
  return WORLDS.flatMap((world) => {
    const rows = sharedLoads(world).map(({ type, objects, readsPerSecond, writesPerSecond, utilisation }) => {
      return [type, amount(objects), amount(readsPerSecond), amount(writesPerSecond), percent(utilisation)];
    });
    const table = markdownTable(["class", "objects", "reads/s each", "writes/s each", "load"], rows);
    return [`### ${world.title}`, assumptions(world), table];
  }).join("\n\n");
}

function assumptions({ liveTokens, liveTrees, isolates, mounts, rates }: World): string {
  const unknown = rates.lookUpOfEntity + rates.lookUpOfBatch;
  return [
    `${amount(liveTokens)} tokens in ${amount(liveTrees)} trees, ${amount(isolates)} isolates, mounts: ${amount(mounts)};`,
    `in a second ${amount(rates.lookUp + unknown)} look-ups (${amount(unknown)} of entities that the isolate does not know yet),`,
    `${amount(rates.loginByDocument)} logins by document, ${amount(rates.loginBySignature)} by signed request and`,
    `${amount(rates.loginForBatch)} for batch tokens, ${amount(rates.createChild + rates.createByRole + rates.createOrphan)}`,
    `creations, ${amount(rates.renew + rates.renewLogin)} renewals.`,
  ].join(" ");
}

function fleetTable(): string {
  const [busiest] = sharedLoads(FLEET);
  const above = overloaded(FLEET).join(", ") || "none: it holds";
  const object = busiest ? `${busiest.type}, ${percent(busiest.utilisation)}` : "none";
  const header = ["logins through one mount", "busiest object", "objects above half their ceiling"];
  return markdownTable(header, [[`${amount(loginsPerSecond(FLEET))}/s`, object, above]]);
}

function breakTable(): string {
  const rows = WORLDS.map((world) => {
    const { type, factor } = firstToBreak(world);
    return [world.title, type, `${amount(factor)}x`, `${amount(factor * loginsPerSecond(world))}/s`];
  });
  return markdownTable(["world", "first", "at its rates times", "that is logins"], rows);
}

/** Rows that a token costs from its creation to its end, by the class that writes them; and the bills. */
function bills(): Record<"rows" | "bill", string> {
  const lives = ["createChild", "createOrphan", "loginByDocument", "loginBySignature"] as const;
  const end = (name: OperationName): Calls => (name === "createChild" ? OPERATIONS.revoke.afterwards : END_OF_LONE);
  const rows = lives.map((name) => [
    `${OPERATIONS[name].title}, and its end`,
    ...["TokenTree.", "AccessorShard."].map((type) =>
      amount(rowsOf(allCalls(name), "rowsWritten", type) + rowsOf(end(name), "rowsWritten", type)),
    ),
  ]);
  const parts = ["worker", "calls", "time", "rows", "storage", "total"] as const;
  const months = WORLDS.map((world) => {
    const bill = monthlyBill(world);
    return [world.title, ...parts.map((part) => amount(Math.round(bill[part])))];
  });
  return {
    rows: markdownTable(["rows written for", "TokenTree", "AccessorShard"], rows),
    bill: markdownTable(["world", "Worker", "calls", "time of objects", "rows", "storage", "all"], months),
  };
}

function percent(share: number): string {
  return `${amount(share * 100)} %`;
}
