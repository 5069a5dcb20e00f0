import { createExecutionContext } from "cloudflare:test";
import { beforeAll, expect, it, vi } from "vitest";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { AuditShard } from "../../../src/audit/shard/audit-shard.ts";
import { flushAudit } from "../../../src/audit/writer/isolate-writer.ts";
import { MAX_IN_FULL } from "../../../src/audit/writer/refusal-bound.ts";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { callsTo, failing } from "../../support/calls.ts";
import { bindings, bodyOf, call, createToken, exampleBindings, initialized } from "../../support/service.ts";

let root: string;
beforeAll(async () => {
  root = await initialized();
});

type Appends = ReturnType<typeof appends>;

const appends = () => callsTo(AuditShard, "append");
const entriesOf = ({ calls }: Appends): AuditEntry[] => calls.flatMap(({ args: [, batch] }) => [...batch.entries]);
const usesOf = ({ calls }: Appends) => calls.flatMap(({ args: [, batch] }) => [...batch.uses]);

it("an answered change is in the store, with its fields, and says who made which token", async () => {
  const seen = appends();
  const { accessor } = await createToken(root, { ttl: "1h", display_name: "ci" });
  const [entry, ...others] = entriesOf(seen);
  expect(others).toEqual([]);
  const line = JSON.parse(entry?.line ?? "");
  expect(line).toMatchObject({ type: "response", status: 200, response: { auth: { accessor } } });
  expect(line.data.ttl).toMatch(/^hmac-sha256:/);
  expect(entry?.mentions).toContain(`accessor:${accessor}`);
  expect(entry?.mentions).toContain(`accessor:${line.auth.accessor}`);
});

it("an answered change of another Worker is too", async () => {
  const { client_token: token } = await createToken(root);
  const seen = appends();
  const path = "http://site.test/accounts/reader";
  const answer = await exampleBindings.SECRET_ENGINE_SITE.fetch(path, { headers: { "X-Vault-Token": token } });
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
  const [entry, ...others] = entriesOf(seen);
  expect(others).toEqual([]);
  expect(JSON.parse(entry?.line ?? "")).toMatchObject({ via: "rpc", path: "sys/leases/register", status: 200 });
});

it("a look-up is no record: it is counted by token and address, also one by a write", async () => {
  await flushAudit(bindings);
  const seen = appends();
  const { client_token: token, accessor } = await createToken(root);
  const headers = { "CF-Connecting-IP": "192.0.2.7" };
  await call("GET", "auth/token/lookup-self", { token, headers });
  await call("GET", "auth/token/lookup-self", { token, headers });
  await call("POST", "auth/token/lookup", { token, body: { token }, headers });
  await flushAudit(bindings);
  expect(entriesOf(seen)).toHaveLength(1);
  expect(usesOf(seen)).toEqual([expect.objectContaining({ accessor, address: "192.0.2.7", count: 3 })]);
});

it("refusals of anybody are bounded by address", async () => {
  await flushAudit(bindings);
  const seen = appends();
  const headers = { "CF-Connecting-IP": "192.0.2.8" };
  for (let at = 0; at < MAX_IN_FULL + 20; at++)
    await call("GET", "auth/token/lookup-self", { token: "s.none", headers });
  await flushAudit(bindings);
  expect(entriesOf(seen)).toHaveLength(MAX_IN_FULL);
});

it("refusals of a token are bounded too, and no fault or change of it", async () => {
  await flushAudit(bindings);
  const { client_token: token, accessor } = await createToken(root, { policies: ["default"] });
  const seen = appends();
  const at = Date.now();
  for (let count = 0; count < MAX_IN_FULL + 20; count++) {
    const headers = { "CF-Connecting-IP": `192.0.2.${count}` };
    expect((await call("POST", "sys/policies/acl/x", { token, headers, body: {} })).status).toBe(403);
  }
  expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
  await flushAudit(bindings);
  expect(entriesOf(seen)).toHaveLength(MAX_IN_FULL + 1);
  vi.useFakeTimers({ toFake: ["Date"], now: at + 3_600_000 });
  await createToken(root);
  await flushAudit(bindings);
  const counts = entriesOf(seen).filter(({ line }) => JSON.parse(line).type === "refusals");
  expect(counts.map(({ line, mentions }) => [JSON.parse(line).count, mentions])).toContainEqual([
    20,
    [`accessor:${accessor}`],
  ]);
  vi.useRealTimers();
});

it("a store that does not work fails and delays nothing, and gets what was answered meanwhile", async () => {
  const broken = failing(AuditShard, "append");
  const made = [await createToken(root), await createToken(root), await createToken(root)];
  expect(broken.calls.length).toBeGreaterThan(0);
  broken.end();
  const seen = appends();
  await expect
    .poll(async () => {
      made.push(await createToken(root));
      await flushAudit(bindings);
      return entriesOf(seen).length;
    })
    .toBeGreaterThan(3);
  const stored = entriesOf(seen).map(({ line }) => JSON.parse(line).response?.auth?.accessor);
  expect(stored.filter((accessor) => accessor !== undefined)).toEqual(made.map(({ accessor }) => accessor));
});

it("nothing is stored when the store is off", async () => {
  const seen = appends();
  const off: Env = { ...bindings, AUDIT_STORE: "off" };
  const request = new Request("http://grove.test/v1/auth/token/create", {
    method: "POST",
    headers: { "X-Vault-Token": root },
    body: "{}",
  });
  const answer = await worker.fetch(request, off, createExecutionContext());
  expect(bodyOf<{ auth: unknown }>({ body: await answer.json() }).auth).toBeDefined();
  await flushAudit(bindings);
  expect(seen.calls).toEqual([]);
});
