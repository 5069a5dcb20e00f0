import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { PAGE, SUMMARY } from "../answers.ts";
import type { Called, CallFailure, GroveClient } from "../client.ts";
import { harmless, renderTable, type Session, type Style, styled } from "../terminal.ts";

const STYLES: Readonly<Record<Finding["state"], Style>> = { ok: "green", note: "yellow", fault: "red", skipped: "dim" };

/** Runs the checks and shows their results. The exit code is 1 when one finds a fault. */
export async function examine({ client, terminal, json }: Session): Promise<Called<number>> {
  const findings: (Finding & { readonly about: string })[] = [];
  for (const { about, check } of CHECKS) {
    terminal.progress(about);
    findings.push({ about, ...(await check(client)) });
    terminal.progress(null);
    // Without an answer to the first check, the others would fail too.
    if (findings.length === 1 && findings[0]?.state === "fault") break;
  }
  if (json) terminal.out(JSON.stringify(findings));
  else {
    const rows = findings.map(({ state, about, text }) => [state, about, harmless(text)]);
    const [head = "", ...lines] = renderTable(terminal, ["", "ABOUT", ""], rows);
    terminal.out(head);
    lines.forEach((line, at) => {
      const { state } = findings[at] ?? { state: "ok" };
      terminal.out(styled(terminal, STYLES[state], line.slice(0, state.length)) + line.slice(state.length));
    });
  }
  return ok(findings.some(({ state }) => state === "fault") ? 1 : 0);
}

/** The result of a check. `fault`: the operator has to act; `note`: the operator should look. */
export interface Finding {
  readonly state: "ok" | "note" | "fault" | "skipped";
  readonly text: string;
}

/** One check of the doctor. */
export interface Check {
  readonly about: string;
  readonly check: (client: GroveClient) => Promise<Finding>;
}

const CLOCK_SKEW_SECONDS = 30;
const MAX_TERMS = 16;

const fine = (text: string): Finding => ({ state: "ok", text });
const note = (text: string): Finding => ({ state: "note", text });
const fault = (text: string): Finding => ({ state: "fault", text });

const HEALTH = z.object({
  initialized: z.boolean(),
  sealed: z.boolean(),
  server_time_utc: z.number(),
  grove_version: z.string().default("unknown"),
});

async function server(client: GroveClient): Promise<Finding> {
  const answered = await client.call("GET", "sys/health?sealedcode=299&uninitcode=298");
  if (!answered.ok) return fault(answered.error.message);
  const health = HEALTH.safeParse(answered.value.body);
  if (!health.success) return fault("it does not speak this interface");
  const { initialized, sealed, grove_version: version } = health.data;
  if (!initialized) return fault("not initialised: send PUT /v1/sys/init once");
  return sealed ? fault("sealed: the seal key is missing or another one") : fine(`Grove ${version}, ready`);
}

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

async function address({ url }: GroveClient): Promise<Finding> {
  return url.protocol === "https:" || LOOPBACK.test(url.hostname)
    ? fine(url.origin)
    : fault(`${url.origin} has no TLS: every token goes over the network in the clear`);
}

async function clock(client: GroveClient): Promise<Finding> {
  const answered = await client.call("GET", "sys/health");
  const health = answered.ok ? HEALTH.safeParse(answered.value.body) : null;
  if (!health?.success) return skipped("the server says no time");
  const skew = Math.round(health.data.server_time_utc - Date.now() / 1000);
  return Math.abs(skew) > CLOCK_SKEW_SECONDS
    ? note(
        `${Math.abs(skew)} s ${skew > 0 ? "ahead of" : "behind"} this machine: logins by signed requests need the same time`,
      )
    : fine("as on this machine");
}

const SELF = z.object({
  policies: z.array(z.string()),
  ttl: z.number(),
  expire_time: z.string().nullish(),
});

async function token(client: GroveClient): Promise<Finding> {
  const self = await client.get("auth/token/lookup-self", SELF);
  if (!self.ok) return fault(`VAULT_TOKEN is refused: ${self.error.message}`);
  const { policies, ttl, expire_time: end } = self.value;
  const about = `policies ${policies.join(",")}, ${end ? `ends in ${ttl} s` : "never ends"}`;
  return policies.includes("root") ? note(`${about}: daily work needs no root token`) : fine(about);
}

async function listMethod(client: GroveClient): Promise<Finding> {
  const listed = await client.call("LIST", "sys/policies/acl");
  if (listed.ok) return fine("answered");
  const { status } = listed.error;
  // Statuses of HTTP parsers that do not know the method.
  if (status === 400 || status === 405 || status === 501) {
    return note("refused before Grove sees it: hvac and node-vault need the gateway (docs/gateway.md)");
  }
  return unanswered(listed.error);
}

const KEY_STATUS = z.object({ term: z.number(), encryptions: z.number() });

const keys = asks("sys/key-status", KEY_STATUS, ({ term }) => {
  const isNear = term >= MAX_TERMS - 2;
  return isNear ? note(`term ${term} of ${MAX_TERMS} that an installation can have`) : fine(`term ${term}`);
});

const rootTokens = asks("sys/tokens?policy=root&limit=1000", PAGE, ({ tokens }) => {
  const endless = tokens.filter(({ expires }) => expires === null).length;
  return endless > 0
    ? note(`${tokens.length}, of which ${endless} never end: grove tokens --policy root`)
    : fine(`${tokens.length}, all of which end`);
});

async function endless(client: GroveClient): Promise<Finding> {
  const summary = await client.get("sys/tokens/summary", SUMMARY);
  if (!summary.ok) return unanswered(summary.error);
  const page = await client.get("sys/tokens", PAGE, { never_ends: "true", limit: "1000" });
  if (!page.ok) return unanswered(page.error);
  const { length } = page.value.tokens;
  const count = page.value.next === "" ? String(length) : `${length} or more`;
  const text = `${count} of ${summary.value.total} tokens never end`;
  return length > 1 ? note(`${text}: grove tokens --never-ends`) : fine(text);
}

const IRREVOCABLE = z.object({ lease_count: z.number() });

const leases = asks("sys/leases/count?type=irrevocable", IRREVOCABLE, ({ lease_count: count }) =>
  count > 0
    ? fault(`${count} can't be revoked: bao read sys/leases type=irrevocable says why (docs/leases.md)`)
    : fine("none is irrevocable"),
);

const QUOTA_CONFIG = z.object({ rate_limit_exempt_paths: z.array(z.string()) });

const quotas = asks("sys/quotas/config", QUOTA_CONFIG, ({ rate_limit_exempt_paths: exempt }) =>
  exempt.some((path) => "sys/health".startsWith(path.replace(/\*$/, "")))
    ? fine("health checks are exempt")
    : note("sys/health is counted: a load balancer may be refused (docs/operations.md)"),
);

/** A check of one answer. */
function asks<T>(path: string, shape: z.ZodType<T>, judge: (answer: T) => Finding): Check["check"] {
  return async (client) => {
    const answered = await client.get(path, shape);
    return answered.ok ? judge(answered.value) : unanswered(answered.error);
  };
}

/** A refusal by policies, or an endpoint that an older server lacks, is no fault. */
function unanswered({ status, message }: CallFailure): Finding {
  if (status === 403) return skipped("the token may not ask");
  return status === 404 ? skipped("the server has no such endpoint") : fault(message);
}

function skipped(text: string): Finding {
  return { state: "skipped", text };
}

/** The checks, in the order of the output. */
export const CHECKS: readonly Check[] = [
  { about: "server", check: server },
  { about: "address", check: address },
  { about: "clock", check: clock },
  { about: "token", check: token },
  { about: "LIST", check: listMethod },
  { about: "keys", check: keys },
  { about: "root tokens", check: rootTokens },
  { about: "tokens without end", check: endless },
  { about: "leases", check: leases },
  { about: "quotas", check: quotas },
];
