import { runInDurableObject } from "cloudflare:test";
import { compactVerify, createLocalJWKSet } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { digestAfter, FIRST_DIGEST } from "../../../src/audit/chain.ts";
import { keptBytes } from "../../../src/audit/retention.ts";
import { AuditShard } from "../../../src/audit/shard/audit-shard.ts";
import { append, batchOf, directory, entryOf, failure, initializedAlone, shard } from "../../support/audit-store.ts";
import { atCalls, failing, holdAlarms, ringAlarm } from "../../support/calls.ts";
import { crash } from "../../support/objects.ts";
import { bindings, bodyOf, call, dataOf } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let root: string;

beforeAll(async () => {
  root = await initializedAlone();
});

beforeEach(() => {
  holdAlarms();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-05-01T12:00:00Z") });
});

const entries = (count: number) => Array.from({ length: count }, (_, at) => entryOf(at));
const get = (path: string) => call("GET", path, { token: root });
const stateOf = async (name: string) => (await directory().find(name))?.state;

/** A time after all that the tests before have done, for which the directory has nothing planned. */
async function later(days: number): Promise<void> {
  await crash(directory());
  vi.setSystemTime(Date.now() + days * DAY_MS);
}

interface Page {
  readonly lines: readonly string[];
  readonly after: number;
  readonly last: boolean;
}

describe("sys/audit/archive", () => {
  it("gives the lines of an object in pages, as they were stored", async () => {
    for (let row = 0; row < 40; row++) await append("1/1", batchOf(entries(2)));
    const lines: string[] = [];
    for (let [after, isLast] = [0, false]; !isLast; ) {
      const page: Page = dataOf(await get(`sys/audit/archive/1/1?after=${after}`));
      lines.push(...page.lines);
      [after, isLast] = [page.after, page.last];
    }
    expect(lines).toHaveLength(80);
    vi.setSystemTime(Date.now() + 10_000);
    await ringAlarm(shard("1/1"));
    const head = await directory().find("1/1");
    expect(digestAfter(FIRST_DIGEST, lines)).toBe(head?.digest);
    expect((await get("sys/audit/archive/9/9")).status).toBe(404);
    expect((await get("sys/audit/archive/x/y")).status).toBe(404);
    expect((await get("sys/audit/archive/01/1")).status).toBe(404);
  });

  it("has the heads of all chains, which the issuer signed an hour ago at the latest", async () => {
    await append("2/1", batchOf(entries(1)));
    vi.setSystemTime(Date.now() + HOUR_MS);
    await ringAlarm(shard("2/1"));
    const log = vi.spyOn(console, "log");
    await ringAlarm(directory());
    const { signed_heads: heads } = dataOf<{ signed_heads: string[] }>(await get("sys/audit/archive"));
    expect(heads).toHaveLength(1);
    const keys = bodyOf<Parameters<typeof createLocalJWKSet>[0]>(await call("GET", "identity/oidc/.well-known/keys"));
    const { payload, protectedHeader } = await compactVerify(heads[0] ?? "", createLocalJWKSet(keys));
    expect(protectedHeader.typ).toBe("grove-audit-head");
    const signed = JSON.parse(new TextDecoder().decode(payload));
    const digest = digestAfter(FIRST_DIGEST, [entryOf(0, { at: Date.now() - HOUR_MS }).line]);
    expect(signed.heads).toContainEqual({ object: "2/1", begins: FIRST_DIGEST, seq: 1, digest });
    expect(log.mock.calls.map(([line]) => JSON.parse(String(line)))).toContainEqual(
      expect.objectContaining({ type: "audit-head", jws: heads[0] }),
    );
    await ringAlarm(directory());
    expect(dataOf<{ signed_heads: string[] }>(await get("sys/audit/archive")).signed_heads).toHaveLength(1);
    const introspected = await call("POST", "identity/oidc/introspect", { token: root, body: { token: heads[0] } });
    expect(introspected.body).toMatchObject({ active: false });
  });
});

it("a page of an archive begins after any record, also within a row", async () => {
  for (const count of [1, 3, 1, 4, 2]) await append("0/1", batchOf(entries(count)));
  const all: Page = dataOf(await get("sys/audit/archive/0/1"));
  expect(all.lines).toHaveLength(11);
  for (let after = 0; after <= 12; after++) {
    const page: Page = dataOf(await get(`sys/audit/archive/0/1?after=${after}`));
    expect(page).toEqual({ lines: all.lines.slice(after), after: Math.max(after, 11), last: true });
  }
});

it("a page of an archive numbers its records as they were written, also where a row was deleted", async () => {
  for (const count of [1, 3, 2]) await append("12/1", batchOf(entries(count)));
  await alter(shard("12/1"), "DELETE FROM batches WHERE first_seq = 2");
  for (const [after, lines] of [
    [0, 3],
    [1, 2],
    [4, 2],
  ]) {
    const page: Page = dataOf(await get(`sys/audit/archive/12/1?after=${after}`));
    expect([page.lines.length, page.after, page.last]).toEqual([lines, 6, true]);
  }
});

describe("retention", () => {
  it("deletes what is older than it is kept, whole objects at a time, and says so", async () => {
    await append("3/1", batchOf(entries(3)));
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    await ringAlarm(directory());
    expect(await stateOf("3/1")).toBe("closed");
    await append("3/2", batchOf(entries(1)));
    vi.setSystemTime(Date.now() + 25 * DAY_MS);
    await ringAlarm(directory());
    expect(await stateOf("3/1")).toBe("closed");
    vi.setSystemTime(Date.now() + 2 * DAY_MS);
    await ringAlarm(directory());
    expect([await stateOf("3/1"), await stateOf("3/2")]).toEqual(["dropped", "closed"]);
    expect((await shard("3/1").archivePage(0)).lines).toEqual([]);
    expect(await append("3/1", batchOf(entries(1)))).toBe("full");
    const { problems } = dataOf<{ problems: { object: string }[] }>(await get("sys/audit/verify"));
    expect(problems.filter(({ object }) => object.startsWith("3/"))).toEqual([]);
  });

  it("goes on with the others after an object that fails, and tries that one again", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await later(100);
    const names = ["7/1", "8/1", "9/1"];
    for (const name of names) await append(name, batchOf(entries(1)));
    const states = () => Promise.all(names.map(stateOf));
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    failing(AuditShard, "closeWhenFull", "the object does not answer", 1);
    await ringAlarm(directory());
    expect((await states()).toSorted()).toEqual(["closed", "closed", "open"]);
    vi.setSystemTime(Date.now() + 60_000);
    await ringAlarm(directory());
    expect(await states()).toEqual(["closed", "closed", "closed"]);
    vi.setSystemTime(Date.now() + 40 * DAY_MS);
    failing(AuditShard, "drop", "the object does not answer", 1);
    await ringAlarm(directory());
    expect((await states()).toSorted()).toEqual(["closed", "dropped", "dropped"]);
    vi.setSystemTime(Date.now() + 60_000);
    await ringAlarm(directory());
    expect(await states()).toEqual(["dropped", "dropped", "dropped"]);
  });

  it("deletes the oldest beyond a size, and no newer one in the place of an object that fails", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await later(150);
    const names = ["17/1", "18/1", "19/1"];
    const begins = { seq: 0, digest: FIRST_DIGEST };
    for (const [at, name] of names.entries()) {
      await directory().open(name);
      const report = { ...begins, closed: true, lastAt: Date.now() + at, bytes: 0.4 * keptBytes(bindings), term: null };
      expect(await directory().witness(name, report, begins)).toBeNull();
    }
    const states = () => Promise.all(names.map(stateOf));
    failing(AuditShard, "drop", "the object does not answer", 1);
    await ringAlarm(directory());
    expect(await states()).toEqual(["closed", "closed", "closed"]);
    vi.setSystemTime(Date.now() + 60_000);
    await ringAlarm(directory());
    expect(await states()).toEqual(["dropped", "closed", "closed"]);
  });

  it("does not delete what still takes records", async () => {
    await append("4/1", batchOf(entries(1)));
    vi.spyOn(console, "error").mockReturnValue();
    expect(await failure(shard("4/1").drop())).toContain("takes records");
    await alter(shard("4/1"), "DELETE FROM writers");
    expect(await append("4/1", batchOf(entries(1)))).toBe("stored");
  });
});

/** Gives the directory a bucket. Returns what is put into it, by key. @param fails the number of puts that fail first. */
async function bucketOfDirectory(fails = 0): Promise<ReadonlyMap<string, string>> {
  const put = new Map<string, string>();
  let left = fails;
  const bucket = {
    put: async (key: string, text: string) => {
      if (left-- > 0) throw new Error("the bucket does not answer");
      put.set(key, text);
    },
  };
  await runInDurableObject(
    directory(),
    (object) => void Object.assign(Reflect.get(object, "env"), { AUDIT_ARCHIVE: bucket }),
  );
  return put;
}

describe("the archive in a bucket", () => {
  afterEach(() =>
    runInDurableObject(
      directory(),
      (object) => void Reflect.deleteProperty(Reflect.get(object, "env"), "AUDIT_ARCHIVE"),
    ),
  );

  it("has a head before the directory notes it: what a bucket refuses is written again", async () => {
    await later(200);
    await append("5/1", batchOf(entries(2)));
    vi.spyOn(console, "error").mockReturnValue();
    const put = await bucketOfDirectory(1);
    const heads = async () => dataOf<{ signed_heads: string[] }>(await get("sys/audit/archive")).signed_heads;
    const known = await heads();
    await ringAlarm(directory());
    expect(await heads()).toEqual(known);
    vi.setSystemTime(Date.now() + 60_000);
    await ringAlarm(directory());
    const added = (await heads()).filter((head) => !known.includes(head));
    expect(added).toHaveLength(1);
    expect([...put].filter(([key]) => key.endsWith(".jws")).map(([, text]) => text)).toEqual(added);
  });

  it("has the lines of a full object before these are deleted", async () => {
    await later(300);
    const put = await bucketOfDirectory();
    await append("6/1", batchOf(entries(2)));
    const { lines } = await shard("6/1").archivePage(0);
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    await ringAlarm(directory());
    expect(await stateOf("6/1")).toBe("closed");
    vi.setSystemTime(Date.now() + 40 * DAY_MS);
    while ((await stateOf("6/1")) !== "archived") await ringAlarm(directory());
    const copied = [...put].filter(([key]) => key.includes("/6-1/")).map(([, text]) => text);
    expect(copied).toEqual([lines.map((line) => `${line}\n`).join("")]);
    vi.setSystemTime(Date.now() + HOUR_MS);
    await ringAlarm(directory());
    expect(await stateOf("6/1")).toBe("dropped");
  });

  it("that takes nothing keeps twice the size at most; what is deleted then is on record", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await later(370);
    await bucketOfDirectory();
    failing(AuditShard, "archivePage", "it can't be read", 99);
    const names = ["20/1", "21/1", "22/1"];
    const begins = { seq: 0, digest: FIRST_DIGEST };
    const report = (bytes: number, at: number) => ({
      ...{ seq: 7, digest: FIRST_DIGEST, closed: true, lastAt: Date.now() + at },
      ...{ bytes: bytes * keptBytes(bindings), term: null },
    });
    for (const [at, name] of names.entries()) {
      await directory().open(name);
      expect(await directory().witness(name, report(0.6, at), begins)).toBeNull();
    }
    const states = () => Promise.all(names.map(stateOf));
    await ringAlarm(directory());
    expect(await states()).toEqual(["closed", "closed", "closed"]);
    const last = { seq: 7, digest: FIRST_DIGEST };
    expect(await directory().witness("22/1", report(1, 2), last)).toBeNull();
    vi.setSystemTime(Date.now() + HOUR_MS);
    await ringAlarm(directory());
    expect(await states()).toEqual(["dropped", "closed", "closed"]);
    const question = { mentions: [], filter: {}, newestFirst: true, after: null, limit: 1 };
    const { events } = await shard((await directory().newest(0))?.name ?? "").query(question);
    const lines = events.map(({ line }) => JSON.parse(line));
    expect(lines).toMatchObject([{ type: "dropped", count: 7, object: "20/1" }]);
  });

  it("takes nothing back that an object reports of itself while it is copied", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await later(350);
    await bucketOfDirectory();
    await append("15/1", batchOf(entries(2)));
    atCalls(AuditShard, "archivePage", async ({ proceed }) => {
      const known = await directory().find("15/1");
      if (known?.state === "closed") {
        const report = { ...known, closed: true, term: null };
        await directory().witness("15/1", report, { seq: known.seq, digest: "another" });
      }
      return proceed();
    });
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    while ((await stateOf("15/1")) !== "archived") {
      await ringAlarm(directory());
      vi.setSystemTime(Date.now() + HOUR_MS);
    }
    expect(await directory().find("15/1")).toMatchObject({ broken: 2 });
  });
});

/** Gives the directory the service of a node instead. Returns the requests that were made to it. */
async function serviceOfDirectory(statuses: number[]) {
  const requests: { method: string; path: string; body: string }[] = [];
  const service = {
    fetch: async (url: string, init: RequestInit) => {
      const sent = new Request(url, init);
      requests.push({ method: sent.method, path: new URL(url).pathname, body: await sent.text() });
      const status = statuses.shift() ?? 204;
      return new Response(status === 204 ? null : "the bucket answered 403", { status });
    },
  };
  await runInDurableObject(
    directory(),
    (object) => void Object.assign(Reflect.get(object, "env"), { ARCHIVE_SERVICE: service }),
  );
  return requests;
}

describe("the archive of a cluster", () => {
  afterEach(() =>
    runInDurableObject(
      directory(),
      (object) => void Reflect.deleteProperty(Reflect.get(object, "env"), "ARCHIVE_SERVICE"),
    ),
  );

  it("has the lines of a full object before these are deleted, also when its bucket refused them first", async () => {
    await later(400);
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const requests = await serviceOfDirectory([502, 502]);
    await append("10/1", batchOf(entries(2)));
    const { lines } = await shard("10/1").archivePage(0);
    vi.setSystemTime(Date.now() + 4 * DAY_MS);
    await ringAlarm(directory());
    expect(await stateOf("10/1")).toBe("closed");
    while ((await stateOf("10/1")) !== "archived") {
      vi.setSystemTime(Date.now() + DAY_MS);
      await ringAlarm(directory());
    }
    expect(errors.mock.calls.flat().join()).toContain("the archive answered 502: the bucket answered 403");
    vi.setSystemTime(Date.now() + 40 * DAY_MS);
    const pages = requests.filter(({ path }) => path.endsWith("/audit/10-1/000000000001.jsonl"));
    expect(new Set(pages.map(({ body }) => body))).toEqual(new Set([lines.map((line) => `${line}\n`).join("")]));
    expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(["PUT"]));
    await ringAlarm(directory());
    expect(await stateOf("10/1")).toBe("dropped");
  });
});
