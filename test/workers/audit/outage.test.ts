import { beforeAll, expect, it, vi } from "vitest";
import { AuditDirectory } from "../../../src/audit/directory/audit-directory.ts";
import { auditDirectoryOf } from "../../../src/audit/object-name.ts";
import { AuditShard } from "../../../src/audit/shard/audit-shard.ts";
import { auditBacklog, flushAudit } from "../../../src/audit/writer/isolate-writer.ts";
import { systemOf } from "../../../src/system/system.ts";
import { goneObjects, holdAlarms, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";

const MINUTE_MS = 60_000;

let root: string;
beforeAll(async () => {
  root = await initialized();
});

/** Some requests of every kind. Returns their statuses, and the accessors of the tokens that were made. */
async function work(minute: number) {
  const parent = await createToken(root, { ttl: "12h", policies: ["root"] });
  const child = await createToken(parent.client_token, { ttl: "1h" });
  const as = (token: string, method: string, path: string, body?: unknown) =>
    call(method, path, { token, ...(body !== undefined && { body }) });
  const answers = [
    await as(child.client_token, "GET", "auth/token/lookup-self"),
    await as(child.client_token, "POST", "auth/token/renew-self", {}),
    await as(root, "PUT", `sys/policies/acl/of-minute-${minute}`, { policy: 'path "x" { capabilities = ["read"] }' }),
    await as("s.none", "POST", "auth/token/create", {}),
    await as(child.client_token, "POST", "sys/policies/acl/root", {}),
    await as(root, "POST", "auth/token/revoke-accessor", { accessor: parent.accessor }),
    await as(child.client_token, "GET", "auth/token/lookup-self"),
  ];
  return { statuses: answers.map(({ status }) => status), made: [parent.accessor, child.accessor] };
}

async function auditFinding() {
  const doctor = await call("GET", "sys/doctor", { token: root });
  return dataOf<{ checks: { name: string; seen: string }[] }>(doctor).checks.find(({ name }) => name === "audit");
}

it("an hour in which no object of the store answers changes no answer, and its records come afterwards", async () => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const usual = (await work(-1)).statuses;
  const gone = [goneObjects(AuditShard), goneObjects(AuditDirectory)];
  const made: string[] = [];
  for (let minute = 0; minute < 60; minute++) {
    vi.setSystemTime(Date.now() + MINUTE_MS);
    const during = await work(minute);
    expect(during.statuses).toEqual(usual);
    made.push(...during.made);
  }
  const backlog = auditBacklog();
  expect(backlog.waiting).toBeGreaterThan(made.length);
  expect(backlog.dropped).toBe(0);
  expect(await auditFinding()).toMatchObject({ state: "failing", seen: expect.stringContaining("records wait since") });
  const [note, ...others] = await systemOf(bindings).auditBacklogs();
  expect([note?.since, others]).toEqual([backlog.since, []]);
  expect(note?.most).toBeGreaterThanOrEqual(backlog.waiting);
  for (const one of gone) one.end();
  vi.setSystemTime(Date.now() + MINUTE_MS);
  await flushAudit(bindings);
  expect(auditBacklog()).toEqual({ waiting: 0, dropped: 0, since: null });
  expect(await systemOf(bindings).auditBacklogs()).toEqual([]);
  for (const accessor of [made[0], made.at(-1)]) {
    const found = await call("GET", `sys/audit/events?accessor=${accessor}`, { token: root });
    const { events } = dataOf<{ events: { path: string }[] }>(found);
    expect(events.map(({ path }) => path)).toContain("auth/token/create");
  }
});

it("what an isolate could not store before it ended is on record: how many at most, and since when", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  holdAlarms();
  await createToken(root, {});
  const at = Date.now();
  await systemOf(bindings).noteAuditBacklog({ writer: "ended", since: at - 5_000, at, most: 100 });
  expect(await auditFinding()).toMatchObject({ state: "failing", seen: expect.stringContaining("up to 100 records") });
  const dropped = async () => {
    await crash(auditDirectoryOf(bindings));
    await auditDirectoryOf(bindings).signedHeads();
    vi.setSystemTime(Date.now() + MINUTE_MS);
    await ringAlarm(auditDirectoryOf(bindings));
    const found = await call("GET", "sys/audit/events?kind=other", { token: root });
    const { events } = dataOf<{ events: { type: string }[] }>(found);
    return events.filter(({ type }) => type === "dropped");
  };
  expect(await dropped()).toEqual([]);
  vi.setSystemTime(at + 600_000);
  const lost = { count: 100, at_most: true, from: new Date(at - 5_000).toISOString(), to: new Date(at).toISOString() };
  for (let times = 0; times < 2; times++) expect(await dropped()).toMatchObject([lost]);
  expect(await systemOf(bindings).auditBacklogs()).toEqual([]);
});
