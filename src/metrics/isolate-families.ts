import { isLoginPath } from "../base/login-paths.ts";
import { BUCKETS, eventFigures, type RequestFigure, requestFigures, requestsInFlight } from "./counters.ts";
import { type Family, type Sample, single } from "./family.ts";

/** Metrics of token operations that dashboards for the reference use, with patterns of their endpoints. */
const TOKEN_OPERATIONS: readonly (readonly [name: string, help: string, routes: RegExp])[] = [
  ["vault_token_create", "Creations of tokens (ms).", /^auth\/token\/create/],
  ["vault_token_lookup", "Look-ups of tokens (ms).", /^auth\/token\/lookup/],
  ["vault_token_renew", "Renewals of tokens (ms).", /^auth\/token\/renew/],
  ["vault_token_revoke", "Revocations of a token alone (ms).", /^auth\/token\/revoke-orphan/],
  ["vault_token_revoke_tree", "Revocations of a token with all below it (ms).", /^auth\/token\/revoke(?!-orphan)/],
];

/** Returns the metrics that this isolate has counted since it started. */
export function isolateFamilies(): Family[] {
  const figures = requestFigures();
  const { logins = [], others = [] } = Object.groupBy(figures, ({ route, mount }) =>
    isLoginPath(route, mount) ? "logins" : "others",
  );
  return [
    summary("vault_core_handle_request", "Requests that are not logins (ms).", others),
    summary("vault_core_handle_login_request", "Logins and their steps (ms).", logins),
    ...TOKEN_OPERATIONS.map(([name, help, routes]) => {
      const own = figures.filter(({ route }) => routes.test(route));
      return summary(name, help, own);
    }),
    ...routeSummaries(figures),
    latencies(figures),
    single("gauge", "grove_http_requests_in_flight", "Requests that are not answered yet.", requestsInFlight()),
    single("counter", "grove_rate_limited_total", "Requests that a quota refused.", countOf(figures, 429)),
    single("counter", "grove_http_failures_total", "Requests that ended in a fault (500).", countOf(figures, 500)),
    // The audit log has one device, the console, which accepts every line.
    single("counter", "vault_audit_log_request_failure", "Lines of the audit log that could not be written.", 0),
    counter("grove_logins_total", "Logins by mount, role and result.", eventFigures("login")),
    counter("grove_cloud_calls_total", "Calls to the cloud by service and result.", eventFigures("cloud_call")),
    counter(
      "grove_lease_revocations_total",
      "Revocations sent for leases, by result.",
      eventFigures("lease_revocation"),
    ),
    counter("grove_tokens_swept_total", "Dead tokens that were removed.", eventFigures("tokens_swept")),
    single("gauge", "grove_sweeps_running", "Trees that remove dead tokens now.", balanceOf("sweep")),
    counter("grove_audit_records_total", "Records of the audit store, by result.", eventFigures("audit_record")),
    single("gauge", "grove_audit_records_waiting", "Records that are not stored yet.", balanceOf("audit_waiting")),
    counter(
      "grove_audit_append_failures_total",
      "Calls to the audit store that failed or were late.",
      eventFigures("audit_append_failure"),
    ),
  ];
}

function summary(name: string, help: string, figures: readonly RequestFigure[]): Family {
  return {
    name,
    help,
    type: "summary",
    samples: [
      { suffix: "_sum", value: total(figures, "sum") },
      { suffix: "_count", value: total(figures, "count") },
    ],
  };
}

/** Returns a summary for each operation and mount: `vault_route_<operation>_<mount>`, as the reference names it. */
function routeSummaries(figures: readonly RequestFigure[]): Family[] {
  const served = figures.filter(({ route }) => route !== "");
  const groups = Map.groupBy(served, ({ operation, mount }) => `${operation}_${mount.replace(/\//g, "-")}`);
  return [...groups].map(([name, of]) =>
    summary(`vault_route_${name.replace(/\W+/g, "_")}`, "Requests by operation and mount (ms).", of),
  );
}

function latencies(figures: readonly RequestFigure[]): Family {
  const samples = figures.flatMap(({ route, operation, status, buckets, sum, count }): Sample[] => {
    const labels = { route: route || "unknown", operation, status: String(status) };
    let below = 0;
    const bounded = BUCKETS.map((le, at): Sample => {
      below += buckets[at] ?? 0;
      return { suffix: "_bucket", labels: { ...labels, le: String(le) }, value: below };
    });
    return [
      ...bounded,
      { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: count },
      { suffix: "_sum", labels, value: sum / 1000 },
      { suffix: "_count", labels, value: count },
    ];
  });
  const help =
    "Time from a request's arrival to its answer. The clock of the platform stands still while only code runs.";
  return { name: "grove_http_request_duration_seconds", help, type: "histogram", samples };
}

function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: "counter", samples };
}

/** Returns the number of things in progress: the start of one counts 1, its end -1. */
function balanceOf(event: "sweep" | "audit_waiting"): number {
  return eventFigures(event).reduce((sum, { value }) => sum + value, 0);
}

function countOf(figures: readonly RequestFigure[], status: number): number {
  return figures.reduce((sum, figure) => sum + (figure.status === status ? figure.count : 0), 0);
}

function total(figures: readonly RequestFigure[], what: "sum" | "count"): number {
  return figures.reduce((sum, figure) => sum + figure[what], 0);
}
