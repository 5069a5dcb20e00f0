import { beforeAll, expect, it, vi } from "vitest";
import { AuditDirectory } from "../../../src/audit/directory/audit-directory.ts";
import { AuditShard } from "../../../src/audit/shard/audit-shard.ts";
import { auditBacklog, flushAudit } from "../../../src/audit/writer/isolate-writer.ts";
import { goneObjects, holdAlarms } from "../../support/calls.ts";
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
  for (const one of gone) one.end();
  vi.setSystemTime(Date.now() + MINUTE_MS);
  await flushAudit(bindings);
  expect(auditBacklog()).toEqual({ waiting: 0, dropped: 0 });
  for (const accessor of [made[0], made.at(-1)]) {
    const found = await call("GET", `sys/audit/events?accessor=${accessor}`, { token: root });
    const { events } = dataOf<{ events: { path: string }[] }>(found);
    expect(events.map(({ path }) => path)).toContain("auth/token/create");
  }
});
