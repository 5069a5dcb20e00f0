import { barChart, lineChart } from "../bench/report/svg.ts";
import { monthlyBill } from "./bill.ts";
import { sharedLoads } from "./load.ts";
import { grown, loginsPerSecond, type World } from "./world.ts";

/** A picture of the page. */
export interface Chart {
  /** Without the extension. */
  readonly name: string;
  readonly title: string;
  readonly svg: string;
}

/** Rates at which the load of a growing world is drawn, as shares of its own. */
const FACTORS = [0.01, 0.03, 0.1, 0.2, 0.5, 1, 1.5, 2];
/** Classes that a chart of a growing world shows. */
const SHOWN = 5;

/** The busiest objects of a world, before (mark) and now (bar); 1 is the ceiling. */
export function utilisationChart(name: string, world: World): Chart {
  const title = `Load of the busiest objects of ${world.title}, as a share of their ceiling (dashed: before)`;
  const before = new Map(sharedLoads(world, "before").map(({ type, utilisation }) => [type, utilisation]));
  const bars = sharedLoads(world, "now").map(({ type, objects, utilisation }) => {
    const target = before.get(type);
    const label = `${type} (${objects.toLocaleString("en-US")})`;
    return { label, value: utilisation, min: utilisation, max: utilisation, ...(target !== undefined && { target }) };
  });
  return { name, title, svg: barChart(title, bars) };
}

/** What each class of objects carries while a world grows. */
export function growthChart(name: string, world: World): Chart {
  const title = `Share of the ceiling by logins a second, ${world.title}`;
  const worlds = FACTORS.map((factor) => grown(world, factor));
  const lines = sharedLoads(world, "now")
    .slice(0, SHOWN)
    .map(({ type }) => ({
      label: type,
      points: worlds.map((one) => ({ x: loginsPerSecond(one), y: utilisationOf(one, type) })),
    }));
  return { name, title, svg: lineChart(title, { x: "logins a second", y: "share of the ceiling" }, lines) };
}

/** What makes up the bill of a world. */
export function billChart(name: string, world: World): Chart {
  const title = `Bill of a month in thousands of dollars, ${world.title} (dashed: before)`;
  const [before, now] = [monthlyBill(world, "before"), monthlyBill(world, "now")];
  const parts = ["worker", "calls", "time", "rows", "storage", "total"] as const;
  const bars = parts.map((part) => {
    const value = now[part] / 1000;
    return { label: part, value, min: value, max: value, target: before[part] / 1000 };
  });
  return { name, title, svg: barChart(title, bars) };
}

function utilisationOf(world: World, type: string): number {
  return sharedLoads(world, "now").find((load) => load.type === type)?.utilisation ?? 0;
}
