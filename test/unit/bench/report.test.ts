import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { XMLValidator } from "fast-xml-parser";
import { describe, expect, it } from "vitest";
import type { Sample } from "../../../scripts/bench/cases/bench.ts";
import type { Cascade } from "../../../scripts/bench/cases/cascade.ts";
import type { Counts } from "../../../scripts/bench/cases/counts.ts";
import type { Growth } from "../../../scripts/bench/cases/growth.ts";
import { charts } from "../../../scripts/bench/report/charts.ts";
import { renderDocument } from "../../../scripts/bench/report/document.ts";
import { amount } from "../../../scripts/bench/report/numbers.ts";
import { pricePerMillion, pricePerMonth } from "../../../scripts/bench/report/price.ts";
import type { PartRun, Report } from "../../../scripts/bench/report/report.ts";
import { barChart, lineChart } from "../../../scripts/bench/report/svg.ts";
import { markdownTable, textTable } from "../../../scripts/bench/report/table.ts";
import { renderText } from "../../../scripts/bench/report/text.ts";
import { memoryEnds, type Verdict, verdicts } from "../../../scripts/bench/report/verdicts.ts";
import { writeDocument } from "../../../scripts/bench/report/write.ts";
import { serverText } from "../../../scripts/bench/servers/other.ts";

const sample = (perSecond: number): Sample => ({ perSecond, p50: 1, p99: 2, cpuMicros: 100, gatewayMicros: 0 });
const counts: Counts = { rowsRead: 3, rowsWritten: 4, alarms: 1, calls: ["A.a", "B.b"], objects: 2 };

const comparison = {
  name: "lookup",
  title: "look-up",
  reference: "one <read>",
  target: 0.6,
  samples: [sample(60), sample(30)],
  references: [sample(100), sample(50)],
  others: [sample(20), sample(20)],
  served: [
    { ...sample(40), gatewayMicros: 60 },
    { ...sample(40), gatewayMicros: 60 },
  ],
  cpuTarget: 1.6,
};

const cascade: Cascade = {
  descendants: 100_000,
  leafMs: 2,
  revokeMs: 3,
  asked: 50,
  accepted: 0,
  sameTree: { before: { median: 2, worst: 3 }, during: { median: 5, worst: 9 } },
  otherTrees: { before: { median: 2, worst: 2 }, during: { median: 2.5, worst: 3 } },
  sweptAfterSeconds: 20,
  watchedSeconds: 21,
  rowsLeft: 1,
  memoryBefore: 100,
  memoryMost: 120,
};

const growth = (ratio: number, rowsRead: number): Growth => ({
  operation: "look-up",
  points: [
    { size: 1000, p50: { median: 1, min: 1, max: 1 }, ratio: { median: 1, min: 1, max: 1 }, rows: counts },
    {
      size: 1_000_000,
      p50: { median: ratio, min: ratio, max: ratio },
      ratio: { median: ratio, min: ratio, max: ratio },
      rows: { ...counts, rowsRead },
    },
  ],
});

const slowed = (median: number) => ({ before: { median: 2, worst: 2 }, during: { median, worst: 7 } });

const label = {
  count: 10,
  statuses: { 200: 9, 403: 1 },
  withoutRetryAfter: 0,
  latencyMs: { mean: 1, p50: 1, p90: 2, p99: 3, max: 4 },
};

const run: PartRun = {
  date: "2026-02-03T04:05:06.000Z",
  machine: {
    processor: "A & B",
    cores: 2,
    memoryGiB: 8,
    system: "Linux",
    disk: "ext4 on /dev/x",
    syncMs: 1,
    node: "v24",
    workerd: "workerd 1",
  },
  commit: "abc",
  rounds: 2,
  seconds: 1,
  tookSeconds: 70,
};

const report: Report = {
  runs: { operations: run, against: run, cascade: run, growth: run, load: run, cost: run },
  operations: [comparison],
  against: { server: "other 1.2", operations: [comparison] },
  cascade: [cascade],
  growth: { tree: [growth(1.1, 3)], forest: [growth(1, 3)], teams: [growth(1, 3)] },
  load: {
    mixed: { seconds: 60, labels: { "look-up": label }, memory: [50, 90, 100, 100, 101, 102], failures: 0, lost: 0 },
    overload: { connections: 2000, answered: 100, refused: 50, failures: 0, lost: 0, p99: 10, gatewayMemoryMiB: 100 },
  },
  cost: [{ operation: "look-up | all", counts }],
};

function missed(change: Partial<Report>): string[] {
  return verdicts({ ...report, ...change })
    .filter(({ met }: Verdict) => !met)
    .map(({ what }) => what);
}

describe("targets", () => {
  it("are met by a report that meets them", () => {
    expect(missed({})).toEqual([]);
    expect(verdicts(report).length).toBeGreaterThan(15);
  });

  it.each([
    ["a ratio", { operations: [{ ...comparison, samples: [sample(59), sample(29)] }] }, "look-up: rate"],
    ["CPU", { against: { server: "", operations: [{ ...comparison, cpuTarget: 1.5 }] } }, "look-up: CPU"],
    ["a cascade that is slower than a leaf", { cascade: [{ ...cascade, revokeMs: 4.1 }] }, "revoking"],
    ["a token accepted below", { cascade: [{ ...cascade, accepted: 1 }] }, "accepted below"],
    ["slow look-ups in the tree", { cascade: [{ ...cascade, sameTree: slowed(6.1) }] }, "in the tree during"],
    ["slow look-ups in other trees", { cascade: [{ ...cascade, otherTrees: slowed(3.1) }] }, "in other trees during"],
    ["a slow sweep", { cascade: [{ ...cascade, sweptAfterSeconds: 61 }] }, "rows and accessors gone"],
    ["a sweep that did not end", { cascade: [{ ...cascade, sweptAfterSeconds: null }] }, "rows and accessors gone"],
    ["memory of a sweep", { cascade: [{ ...cascade, memoryMost: 140 }] }, "memory during the sweep"],
    ["time that grows", { growth: { tree: [growth(1.31, 3)], forest: [], teams: [] } }, "time"],
    ["rows that grow", { growth: { tree: [growth(1, 8)], forest: [], teams: [] } }, "rows"],
  ] satisfies [string, Partial<Report>, string][])("are missed by %s", (_, change, named) => {
    expect(missed(change)).toEqual([expect.stringContaining(named)]);
  });

  it.each([
    ["failures", { failures: 1 }, {}, "5xx"],
    ["lost connections", { lost: 1 }, {}, "lost"],
    ["memory that grows", { memory: [50, 90, 100, 110, 120, 140] }, {}, "memory at the end"],
    ["queueing without end", {}, { refused: 0 }, "2000 connections"],
    ["refusing everybody", {}, { answered: 0 }, "2000 connections"],
  ])("are missed by %s", (_, mixed, overload, named) => {
    const load = report.load;
    if (!load) throw new Error("the report has a load");
    const change = { load: { mixed: { ...load.mixed, ...mixed }, overload: { ...load.overload, ...overload } } };
    expect(missed(change)).toEqual([expect.stringContaining(named)]);
  });

  it("compare memory when caches have filled with memory at the end", () => {
    expect(memoryEnds([10, 20, 30, 40, 50, 60])).toEqual({ early: 20, late: 60 });
    expect(memoryEnds([10])).toEqual({ early: 0, late: 10 });
  });
});

describe("tables", () => {
  it("line up for a terminal", () => {
    expect(textTable(["name", "n"], [["a", "10"]])).toBe("name   n\n----  --\na     10");
  });

  it("are Markdown, with bars in a cell escaped", () => {
    expect(markdownTable(["name", "n"], [["a|b", "1"]])).toBe("| name |    n |\n| ---- | ---: |\n| a\\|b |    1 |");
  });

  it.each([
    [0, "0"],
    [0.0123, "0.012"],
    [1.234, "1.23"],
    [12.34, "12.3"],
    [1234, "1,230"],
    [100_000, "100,000"],
  ])("show %d as %s", (value, expected) => {
    expect(amount(value)).toBe(expected);
  });
});

describe("pictures", () => {
  const odd = 'a < b & "c"';

  it.each([
    ["bars", barChart(odd, [{ label: odd, value: 1, min: 0.5, max: 2, target: 0.6 }])],
    ["bars of nothing", barChart("t", [])],
    ["lines", lineChart(odd, { x: odd, y: "y", logarithmic: true }, [{ label: odd, points: [{ x: 1, y: 0 }] }])],
    [
      "long lines",
      lineChart("t", { x: "x", y: "y" }, [{ label: "l", points: Array.from({ length: 50 }, (_, x) => ({ x, y: x })) }]),
    ],
  ])("of %s are well-formed and hold no broken number", (_, svg) => {
    expect(XMLValidator.validate(svg)).toBe(true);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  it("show a target at the place of a bar of the same value", () => {
    const svg = barChart("t", [{ label: "l", value: 1, min: 1, max: 1, target: 1 }]);
    const [, width] = /<rect x="250" y="46" width="([\d.]+)"/.exec(svg) ?? [];
    expect(svg).toContain(`M${(250 + Number(width)).toFixed(1)} 42V`);
  });
});

describe("the table against another server", () => {
  const rowOf = (others: Sample[]) => {
    const found = renderText({ ...report, against: { server: "", operations: [{ ...comparison, others }] } });
    return found
      .split("Beside another server")[1]
      ?.split("\n")
      .find((line) => line.startsWith("look-up "));
  };

  it("compares the CPU of both of Grove's processes with that of the server", () => {
    const text = renderText(report).split("Beside another server: other 1.2")[1] ?? "";
    expect(text).toMatch(/look-up .* 100 \+ 60 +100 +1\.60 \(1\.60-1\.60\) +1\.6\n/);
  });

  it("keeps the run beside a server that writes an audit log apart, without targets", () => {
    const audited = { server: "other 1.2, audit devices: 1", operations: [{ ...comparison, cpuTarget: 0.1 }] };
    const both = { ...report, "against-audited": audited };
    const [, , text = ""] = renderDocument(both).split("## Beside another server: other 1.2");
    expect(text).toMatch(/^, audit devices: 1\n/);
    expect(text).toMatch(/look-up .*\| +100 \+ 60 \| +100 \| +1\.60 \(1\.60-1\.60\) \|\n/);
    expect(verdicts(both)).toEqual(verdicts(report));
  });

  it("says nothing about the CPU of a server whose process is not known", () => {
    const unseen = [{ ...sample(20), cpuMicros: 0 }];
    expect(rowOf(unseen)).toMatch(/ 100 \+ 60 +1\.6$/);
    const against = { server: "", operations: [{ ...comparison, others: unseen }] };
    expect(verdicts({ ...report, against }).map(({ what }) => what)).not.toContain(
      "look-up: CPU as a ratio to the other server",
    );
  });
});

describe("the document", () => {
  it("says of every missed target what stands in the way, and nothing of the others", () => {
    expect(renderDocument(report)).not.toContain("Targets that are missed");
    const slow = { ...comparison, name: "create-orphan", samples: [sample(1), sample(1)] };
    const text = renderDocument({ ...report, operations: [slow] });
    expect(text).toMatch(
      /### Targets that are missed\n\n- look-up: rate as a ratio to .*: 0\.\d\d, .* wanted\. What stands/,
    );
    expect(text.match(/What stands in the way/g)).toHaveLength(1);
  });

  const text = renderDocument(report);

  it("shows every picture that is written", () => {
    const shown = [...text.matchAll(/\(performance\/([a-z-]+)\.svg\)/g)].map(([, name]) => name);
    expect(shown).toEqual(charts(report).map(({ name }) => name));
    expect(shown.length).toBe(6);
    for (const { svg } of charts(report)) expect(XMLValidator.validate(svg)).toBe(true);
  });

  it("names the machine, and whether targets are met", () => {
    expect(text).toContain("A & B, 2 cores");
    expect(text).toContain("targets are met");
    const worse = { ...report, operations: [{ ...comparison, samples: [sample(10)] }] };
    expect(renderDocument(worse)).toMatch(/\bNO \|/);
  });

  it("has the same tables as the terminal", () => {
    for (const part of [
      "Operations",
      "Beside another server: other 1.2",
      "Cascade",
      "Growth",
      "Load",
      "Cost",
      "Targets",
    ]) {
      expect(text).toContain(`## ${part}`);
      expect(renderText(report)).toContain(`\n${part}`);
    }
  });

  it("leaves out what was not measured", () => {
    const { cost, runs } = report;
    const bare: Report = { ...(cost && { cost }), runs: { ...(runs.cost && { cost: runs.cost }) } };
    expect(renderDocument(bare)).toContain("## Cost");
    expect(renderDocument(bare)).not.toContain("## Operations");
    expect(charts(bare)).toEqual([]);
  });
});

describe("parts of several runs", () => {
  const later: PartRun = { ...run, date: "2026-03-04T00:00:00.000Z", commit: "def", rounds: 7 };
  const slower = { ...cascade, revokeMs: 9 };
  const section = (text: string, title: string) => text.split(`\n## ${title}`)[1]?.split("\n## ")[0] ?? "";

  it("say in their first line when and how they were measured", () => {
    const text = renderDocument({ ...report, runs: { ...report.runs, cascade: later } });
    const firstLine = (title: string) => section(text, title).split("\n")[2];
    expect(firstLine("Operations")).toBe(
      "Measured on 2026-02-03, commit abc, 2 rounds of 1 s, a small write with fsync took 1 ms.",
    );
    expect(firstLine("Cascade")).toContain("on 2026-03-04, commit def, 7 rounds of 1 s");
  });

  it("say so when another machine or another workerd was measured", () => {
    const machine = { ...run.machine, cores: 64, workerd: "workerd 2" };
    const text = renderDocument({ ...report, runs: { ...report.runs, cascade: { ...later, machine } } });
    expect(text).toContain("A & B, 64 cores");
    expect(section(text, "Cascade")).not.toContain("another machine");
    expect(section(text, "Operations")).toContain("on another machine (A & B, 2 cores, 8 GiB), workerd 1.");
  });

  it("replace their sections, charts and targets, and leave the others as they are", () => {
    const docs = mkdtempSync(join(tmpdir(), "grove-docs-"));
    const read = (name: string) => readFileSync(join(docs, name), "utf8");
    try {
      writeDocument(docs, report);
      const before = { page: read("performance.md"), chart: read("performance/cascade.svg") };
      writeDocument(docs, { cascade: [slower], runs: { cascade: later } });
      const after = read("performance.md");
      for (const title of ["Operations", "Beside another server", "Growth: tokens", "Load", "Cost"]) {
        expect(section(after, title)).toBe(section(before.page, title));
      }
      expect(section(after, "Cascade")).toContain("commit def");
      expect(section(after, "Targets")).toMatch(/revoking, as a ratio to a leaf +\| +at most 2 \| +4\.50 \| +NO/);
      expect(read("performance/cascade.svg")).not.toBe(before.chart);
      expect(after).toBe(renderDocument({ ...report, cascade: [slower], runs: { ...report.runs, cascade: later } }));
    } finally {
      rmSync(docs, { recursive: true });
    }
  });

  it("are kept with the page, which holds no broken number", () => {
    const kept = JSON.parse(readFileSync("docs/performance/figures.json", "utf8")) as Report;
    const page = renderDocument(kept);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
    expect(Object.keys(kept).toSorted()).toEqual([...Object.keys(kept.runs), "runs"].toSorted());
  });
});

describe("the description of another server", () => {
  it("names the program, its version, its storage and its audit devices", () => {
    expect(serverText("bao", { version: "2.6.2", storage_type: "raft" }, 0)).toBe(
      "bao 2.6.2, storage raft, audit devices: 0",
    );
    expect(serverText("http://127.0.0.1:1", {}, 1)).toBe("http://127.0.0.1:1, audit devices: 1");
  });
});

describe("prices", () => {
  it("add up what the vendor bills", () => {
    // 0.30 + 0.02 for the Worker, 2 calls at 0.15 and at 10 ms of 128 MB, 3 rows read, 4 written and an alarm.
    expect(pricePerMillion(counts)).toBeCloseTo(0.32 + 2 * (0.15 + 0.016) + 0.003 + 5, 6);
    expect(pricePerMonth(2, 1e6)).toBe(60);
  });
});
