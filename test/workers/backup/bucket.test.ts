import { createExecutionContext, createScheduledController } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { backupRunsOf } from "../../../src/backup/bucket/backup-runs.ts";
import { deleteOld, listBackups } from "../../../src/backup/bucket/bucket.ts";
import { backupName } from "../../../src/backup/names.ts";
import { fromBase64 } from "../../../src/crypto/bytes.ts";
import worker from "../../../src/index.ts";
import { type AnsweredPart, type Backup, backUp, loseEverything, restore } from "../../support/backups.ts";
import { holdAlarms, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { type Answer, bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";

const HOUR_MS = 3_600_000;

beforeEach(async () => {
  holdAlarms();
  // Before a test, not after it: a backup of the file before this one can still have been writing when its objects were deleted.
  const left = await keys();
  if (left.length > 0) await bucket().delete(left);
});

afterEach(async () => {
  vi.useRealTimers();
  await loseEverything();
});

function bucket(): R2Bucket {
  if (!bindings.BACKUPS) throw new Error("the tests have a bucket");
  return bindings.BACKUPS;
}

const cron = () => worker.scheduled(createScheduledController(), bindings);
/** A run, as the server shows it. */
interface Run {
  readonly name: string;
  readonly state: string;
  readonly parts: number;
  readonly objects: number;
  readonly error: string | null;
}

/** What `sys/backup/runs` answers. */
async function runs(
  root: string,
): Promise<{ running: Run | null; last: Run; last_good: Run; [other: string]: unknown }> {
  return dataOf(await call("GET", "sys/backup/runs", { token: root }));
}

const statusOf = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;

/** One alarm of the object. */
const step = () => ringAlarm(backupRunsOf(bindings));

async function finishRun(): Promise<void> {
  for (let round = 0; (await backupRunsOf(bindings).status()).running && round < 100; round++) await step();
}

const keys = async () => (await bucket().list()).objects.map(({ key }) => key);

/** A new deployment, with the secret for its first request. */
async function asNew(method: string, path: string, token: string | null, body?: unknown): Promise<Answer> {
  const headers = { "Content-Type": "application/json", ...(token !== null && { "X-Vault-Token": token }) };
  const request = new Request(`https://grove.example/v1/${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const env = { ...bindings, GROVE_INIT_TOKEN: "first" };
  const answer = await worker.fetch(request, env, createExecutionContext());
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

/** The newest backup, as a new deployment answers its files. */
async function fetched(): Promise<Backup> {
  const { backups } = dataOf<{ backups: string[] }>(await asNew("GET", "sys/restore/stored", "first"));
  const file = async (name: string) => {
    const body = { backup: backups.at(-1), file: name };
    return dataOf<{ content: string }>(await asNew("POST", "sys/restore/stored/file", "first", body)).content;
  };
  const text = new TextDecoder().decode(fromBase64(await file("manifest")) ?? new Uint8Array());
  const { files, ...head } = JSON.parse(text) as Backup["head"] & { files: AnsweredPart[] };
  const parts = [];
  for (const part of files) parts.push({ ...part, content: await file(part.sha256) });
  return { head, parts };
}

it("the hourly trigger begins a backup, which continues after a crash, and a new deployment is restored from it", async () => {
  const root = await initialized();
  const token = await createToken(root, { no_parent: true, policies: ["default"] });
  await cron();
  const { running } = await runs(root);
  expect(running).toMatchObject({ state: "running", parts: 0 });
  await step();
  expect((await runs(root)).running).toMatchObject({ name: running?.name, parts: 1 });
  expect((await keys()).some((key) => key.endsWith(".json"))).toBe(false);
  await crash(backupRunsOf(bindings));
  // A part that is in the bucket and not noted is made again.
  await finishRun();
  const { last, last_good: good, ...rest } = await runs(root);
  expect(rest).toEqual({ bucket: true, interval_hours: 24, keep: 14, running: null });
  expect(last).toMatchObject({ name: running?.name, state: "done", error: null });
  expect(last).toEqual(good);
  expect(last.parts).toBe((await keys()).length - 1);
  // The same rows as over HTTP, in the same number of parts.
  const asked = await backUp(root);
  expect(last.parts).toBe(asked.parts.length);
  expect(Number(last.objects)).toBe(asked.parts.reduce((sum, { objects }) => sum + objects, 0));

  await loseEverything();
  for (const sent of [null, "firsT"]) {
    expect((await asNew("GET", "sys/restore/stored", sent)).status).toBe(403);
    expect((await asNew("POST", "sys/restore/stored/file", sent, {})).status).toBe(403);
  }
  // Without the secret strangers would see it.
  expect((await call("GET", "sys/restore/stored")).status).toBe(403);
  const backup = await fetched();
  expect((await asNew("POST", "sys/restore/stored/file", "first", { backup: "../x", file: "manifest" })).status).toBe(
    400,
  );
  await restore(backup);
  expect([await statusOf(root), await statusOf(token.client_token)]).toEqual([200, 200]);
  expect((await asNew("GET", "sys/restore/stored", "first")).status).toBe(400);
  const { backups } = dataOf<{ backups: string[] }>(await call("GET", "sys/backup/stored", { token: root }));
  expect(backups).toEqual([expect.stringMatching(new RegExp(`^[0-9a-f-]{36}/${last.name}$`))]);
  const file = { backup: backups[0], file: backup.parts[0]?.sha256 };
  expect((await call("POST", "sys/backup/stored/file", { token: root, body: file })).status).toBe(200);
  const unknown = { backup: backups[0], file: "0".repeat(64) };
  expect((await call("POST", "sys/backup/stored/file", { token: root, body: unknown })).status).toBe(404);
});

it("begins once in an interval, again after a failure, and at once when it is asked to", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  const root = await initialized();
  await cron();
  const first = (await runs(root)).running?.name;
  expect((await call("POST", "sys/backup/runs", { token: root })).status).toBe(400);
  await cron();
  expect((await runs(root)).running?.name).toBe(first);
  await finishRun();
  vi.setSystemTime(Date.now() + 23 * HOUR_MS);
  await cron();
  expect((await runs(root)).running).toBeNull();
  vi.setSystemTime(Date.now() + HOUR_MS);
  await cron();
  const second = (await runs(root)).running?.name;
  expect(second).not.toBe(first);
  // One that stands still for too long is given up.
  await step();
  vi.setSystemTime(Date.now() + 7 * HOUR_MS);
  await step();
  const { last, last_good: good } = await runs(root);
  expect(last).toMatchObject({ name: second, state: "failed", error: "it had not ended after six hours" });
  expect(good.name).toBe(first);
  await cron();
  expect((await runs(root)).running?.name).not.toBe(second);
  await finishRun();
  vi.setSystemTime(Date.now() + 60_000);
  expect((await call("POST", "sys/backup/runs", { token: root })).status).toBe(204);
  await finishRun();
  expect(await listBackups(bucket())).toHaveLength(3);
  const token = await tokenUnder(root, 'path "sys/backup/*" { capabilities = ["read", "update"] }');
  expect((await call("GET", "sys/backup/runs", { token })).status).toBe(403);
});

it("writes no manifest over parts that are gone, and says which object changes all the time", async () => {
  const root = await initialized();
  await cron();
  await step();
  await bucket().delete(await keys());
  await finishRun();
  const gone = "parts were deleted from the bucket while it was made";
  expect((await runs(root)).last).toMatchObject({ state: "failed", error: gone });
  expect((await keys()).filter((key) => key.endsWith(".json"))).toEqual([]);

  await cron();
  const { running } = await runs(root);
  // It was read ten times, and had changed each time before its end was read.
  const restless = { after: "", within: { key: "n system", page: null, tries: 10 } };
  const place = { position: JSON.stringify(restless) };
  await changeRows(backupRunsOf(bindings), "runs", place, { name: running?.name ?? "" });
  await step();
  const message = "an object changed each time that it was read: n system";
  expect((await runs(root)).running).toMatchObject({ state: "running", error: message });
  await finishRun();
  expect((await runs(root)).last).toMatchObject({ state: "failed", error: message });
});

it("deletes what is old, the manifest first, and leaves what is under way and what is another installation's", async () => {
  const now = Date.now();
  const at = (hours: number) => backupName(now - hours * HOUR_MS);
  const write = async (cluster: string, name: string, whole: boolean) => {
    await bucket().put(`${cluster}/${name}/parts/${"a".repeat(64)}.json.gz`, "x");
    if (whole) await bucket().put(`${cluster}/${name}/${name}.json`, "{}");
  };
  for (const hours of [9, 8, 7]) await write("mine", at(hours), true);
  await write("mine", at(10), false);
  await write("mine", at(1), false);
  await write("other", at(100), true);
  await bucket().put("mine/notes.txt", "kept");
  const deletes = vi.spyOn(bucket(), "delete");
  let calls = 1;
  while (!(await deleteOld(bucket(), "mine", 2, now - 6 * HOUR_MS))) calls++;
  expect(calls).toBe(3);
  const deleted = deletes.mock.calls.flat(2).filter((key) => key.startsWith(`mine/${at(9)}/`));
  expect(deleted[0]).toBe(`mine/${at(9)}/${at(9)}.json`);
  const left = new Set((await keys()).map((key) => key.split("/").slice(0, 2).join("/")));
  expect(left).toEqual(
    new Set([`mine/${at(8)}`, `mine/${at(7)}`, `mine/${at(1)}`, "mine/notes.txt", `other/${at(100)}`]),
  );
  expect(await listBackups(bucket())).toEqual([`other/${at(100)}`, `mine/${at(8)}`, `mine/${at(7)}`]);
});
