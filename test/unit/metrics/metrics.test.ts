import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { metricsText } from "../../../scripts/serve/metrics-page.ts";
import { installationFamilies, stateFamilies } from "../../../src/api/sys/metrics.ts";
import { LOGIN_PATHS } from "../../../src/base/login-paths.ts";
import { NEVER_KEY } from "../../../src/listing/inventory/index-terms.ts";
import { countEvent, eventFigures, noteAnswer, noteArrival } from "../../../src/metrics/counters.ts";
import { type Family, metricsObject, prometheusText } from "../../../src/metrics/family.ts";
import { isolateFamilies } from "../../../src/metrics/isolate-families.ts";

const NOW = Date.parse("2026-11-22T02:30:00Z");
const FIGURES = {
  tokensByMount: [{ key: "auth/token/", count: 100 }],
  tokensByPolicy: [{ key: "default", count: 90 }],
  tokensByEnd: {
    groups: [
      { key: "2026-11-22T02:00:00Z", count: 5 },
      { key: "2026-11-22T12:00:00Z", count: 20 },
      { key: "2027-11-22T12:00:00Z", count: 1 },
      { key: NEVER_KEY, count: 30 },
    ],
    total: 100,
  },
  leases: 7,
  irrevocableLeases: 1,
  entities: 2,
  tidiedAt: NOW - 90_000,
  backedUpAt: NOW - 3_600_000,
  tidyFailures: 0,
  tamperedRows: 0,
};

/** Samples by name and labels. */
function samples(families: readonly Family[]): Record<string, number> {
  const lines = prometheusText(families)
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

function answer(route: string, status: number, ms: number, mount = "auth/token/", operation = "update"): void {
  noteArrival();
  noteAnswer({ route, mount, operation, status }, ms);
}

describe("the text for Prometheus", () => {
  it("escapes what labels and explanations hold", () => {
    const family: Family = {
      name: "a",
      help: "one\ntwo \\",
      type: "gauge",
      samples: [{ labels: { path: 'x"\\\n' }, value: 1.5 }],
    };
    expect(prometheusText([family])).toBe('# HELP a one\\ntwo \\\\\n# TYPE a gauge\na{path="x\\"\\\\\\n"} 1.5\n');
  });

  it("leaves out what is not known", () => {
    expect(prometheusText([{ name: "a", help: "", type: "gauge", samples: [] }])).toBe("");
  });
});

describe("figures of requests", () => {
  it("stand in every bucket that is long enough, and in the sum", () => {
    answer("auth/token/create", 200, 3);
    answer("auth/token/create", 200, 40);
    answer("auth/token/create", 200, 60_000);
    const found = samples(isolateFamilies());
    const labels = 'route="auth/token/create",operation="update",status="200"';
    const bucket = (le: string) => found[`grove_http_request_duration_seconds_bucket{${labels},le="${le}"}`];
    expect(["0.0025", "0.005", "0.025", "0.05", "10", "+Inf"].map(bucket)).toEqual([0, 1, 1, 2, 2, 3]);
    expect(found[`grove_http_request_duration_seconds_sum{${labels}}`]).toBeCloseTo(60.043);
    expect(found.vault_token_create_count).toBe(3);
    expect(found.vault_route_update_auth_token__count).toBe(3);
    expect(found.grove_http_requests_in_flight).toBe(0);
  });

  it("tell logins from other requests, and revocations of trees from those of one token", () => {
    for (const path of LOGIN_PATHS) answer(`auth/ci/${path}`, 200, 1, "auth/ci/");
    answer("auth/ci/role/:name", 200, 1, "auth/ci/");
    answer("auth/token/revoke-self", 204, 1);
    answer("auth/token/revoke-orphan", 204, 1);
    const found = samples(isolateFamilies());
    expect(found.vault_core_handle_login_request_count).toBe(LOGIN_PATHS.length);
    expect(found.vault_token_revoke_tree_count).toBe(1);
    expect(found.vault_token_revoke_count).toBe(1);
  });
});

describe("events", () => {
  it("are counted by their labels, and together once there are too many sets of them", () => {
    for (let role = 0; role < 1100; role++) countEvent("login", ["auth/ci/", `role-${role}`, "success"]);
    const figures = eventFigures("login");
    expect(figures).toHaveLength(1001);
    expect(figures.at(-1)).toEqual({ labels: { mount: "other", role: "other", result: "other" }, value: 100 });
  });
});

describe("figures of the installation", () => {
  const found = samples(installationFamilies(FIGURES, NOW));

  it("tell tokens by the time that is left, each once", () => {
    const spans = ["1h", "1d", "7d", "30d", "later", "never"];
    expect(spans.map((within) => found[`grove_token_count_by_end{within="${within}"}`])).toEqual([5, 20, 0, 0, 45, 30]);
  });

  it("count the leases of tokens that end, and those of secrets", () => {
    expect(found.vault_expire_num_leases).toBe(77);
    expect(found.grove_tidy_age_seconds).toBe(90);
    expect(found.grove_backup_age_seconds).toBe(3600);
  });
});

describe("the JSON form", () => {
  it("has the names of the reference, with dots", () => {
    const { Gauges: gauges } = metricsObject(installationFamilies(FIGURES, NOW), "now");
    expect(gauges).toContainEqual({ Name: "vault.token.count", Value: 100, Labels: {} });
    expect(gauges).toContainEqual({
      Name: "vault.token.count_by_auth",
      Value: 100,
      Labels: { auth_method: "auth/token/" },
    });
  });
});

describe("ops/", () => {
  const rules = parse(readFileSync("ops/alerts.yml", "utf8")) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
  };
  const dashboard = JSON.parse(readFileSync("ops/grafana-dashboard.json", "utf8")) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  const expressions = [
    ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
    ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
  for (const event of ["cloud_call", "lease_revocation"] as const) countEvent(event, ["sts", "success"]);
  const gateway = metricsText({
    figures: () => ({ connections: 1, requests: 1, bodyBytes: 0, answerBytes: 0, refusals: new Map([[503, 1]]) }),
    processes: () => ({ gateway: "self" }),
  });
  const families = [...stateFamilies(null, "1", NOW), ...isolateFamilies(), ...installationFamilies(FIGURES, NOW)];
  const known = new Set([
    ...families.map(({ name }) => name),
    ...[...gateway.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name),
  ]);

  it.each(expressions)("%s asks for metrics that there are", (_, expr) => {
    const asked = [...expr.matchAll(/\b(?:vault|grove)_\w+/g)].map(([name]) => name);
    const plain = (name: string) => name.replace(/_(?:bucket|sum|count)$/, "");
    expect(asked.filter((name) => !known.has(name) && !known.has(plain(name)))).toEqual([]);
  });

  it("says what each alert means", () => {
    const alerts = rules.groups.flatMap((group) => group.rules);
    expect(alerts.filter(({ annotations }) => !annotations.summary)).toEqual([]);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });

  it("reads a server as its address and settings are", () => {
    const { scrape_configs: jobs } = parse(readFileSync("ops/prometheus.yml", "utf8")) as {
      scrape_configs: { metrics_path?: string }[];
    };
    expect(jobs.map(({ metrics_path: path }) => path)).toEqual(["/v1/sys/metrics", undefined]);
  });
});
