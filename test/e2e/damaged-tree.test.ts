import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { treeIdOf } from "../../src/token/ids.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const SECRETS = {
  GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  GROVE_DEV_ROOT_TOKEN: `root-${randomBytes(12).toString("hex")}`,
};
const PAGE_BYTES = 4096;

const data = mkdtempSync(join(tmpdir(), "grove-damaged-tree-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

async function answerOf(server: RunningServer, method: string, path: string, body?: unknown) {
  const sent = { token: server.rootToken, ...(body !== undefined && { body }) };
  const answer = await call(server, method, `/v1/${path}`, sent);
  return [answer.status, answer.body.data ?? answer.body] as const;
}

/** Overwrites the first two pages of the database of a tree. */
function damage(treeId: string): void {
  const objects = join(data, "objects");
  const directory = readdirSync(objects).find((one) => one.startsWith("TokenTree-")) ?? "";
  const path = join(objects, directory, `${treeId}.sqlite`);
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([randomBytes(2 * PAGE_BYTES), bytes.subarray(2 * PAGE_BYTES)]));
}

it("a revocation names what it can't end in a damaged tree, with exact numbers, and so does the check", async () => {
  const first = await startServe({ data, env: SECRETS, flags: ["--allow-private-host=127.0.0.1"] });
  const accessors: string[] = [];
  for (let at = 0; at < 3; at++) {
    const fields = { ttl: "1h", policies: ["default"], no_parent: true, display_name: "leak" };
    const { body } = await call(first, "POST", "/v1/auth/token/create", { token: first.rootToken, body: fields });
    accessors.push((body.auth as { accessor: string }).accessor);
  }
  // The index of leases has the damaged tree too, so it is asked for what is not revoked.
  const lease = { accessor: accessors[0], path: "db/creds/x", ttl: "10m", target: "https://127.0.0.1:1/" };
  const registered = await call(first, "POST", "/v1/sys/leases/register", { token: first.rootToken, body: lease });
  const leaseId = registered.body.lease_id;
  const [damaged = "", ...others] = accessors;
  const filter = { display_name: "token-leak" };
  const count = (of: RunningServer) => answerOf(of, "POST", "sys/tokens/revoke", filter);
  await expect.poll(() => count(first), { timeout: 10_000 }).toMatchObject([200, { count: 3 }]);
  await first.stop();
  damage(treeIdOf(damaged));
  const server = await startServe({ data, env: SECRETS, flags: ["--allow-private-host=127.0.0.1"] });
  onTestFinished(() => server.stop().then(() => {}));
  // The server needs some seconds to find out which database is damaged.
  await expect.poll(() => count(server), { timeout: 30_000 }).toMatchObject([200, { count: 3, total: 3 }]);
  const real = { ...filter, dry_run: false, expected_count: 3, expected_total: 3 };
  const [, started] = await answerOf(server, "POST", "sys/tokens/revoke", real);
  const { job } = started as { job: string };
  const jobNow = async () => (await answerOf(server, "GET", `sys/tokens/jobs/${job}`))[1];
  await expect.poll(jobNow, { timeout: 60_000 }).toMatchObject({ finished: expect.any(String) });
  expect(await jobNow()).toMatchObject({
    ...{ state: "incomplete", matched: 3, revoked: 2, total: 2, ended_before: 0, not_ended: 1, failures: [] },
  });
  const [status, receipt] = await answerOf(server, "GET", `sys/tokens/jobs/${job}/receipt`);
  expect([status, receipt]).toMatchObject([
    200,
    { not_ended: [{ accessor: damaged, cause: expect.stringContaining("damaged") }] },
  ]);
  expect(await answerOf(server, "POST", "sys/tokens/verify-ended", { job })).toMatchObject([
    200,
    { checked: 3, ended: 2, alive: [], unanswered: [damaged] },
  ]);
  expect(await answerOf(server, "POST", "sys/tokens/verify-ended", { accessors })).toMatchObject([
    200,
    { checked: 3, ended: 2, alive: [], unanswered: [damaged], unrevoked_leases: { more: true } },
  ]);
  expect(await answerOf(server, "POST", "sys/tokens/verify-ended", { lease_ids: [leaseId] })).toMatchObject([
    200,
    { checked: 1, ended: 0, alive: [], unanswered: [leaseId] },
  ]);
  expect([...(receipt as { accessors: string[] }).accessors].sort()).toEqual([...others].sort());
}, 120_000);
