import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { DataDirectory } from "../../../scripts/local/data-directory.ts";
import { noteServing, oldData, restoreWarning } from "../../../scripts/local/last-served.ts";

const HOUR_MS = 3_600_000;
const STOPPED = Date.UTC(2026, 10, 1);
let path: string;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "grove-unit-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await writeFile(join(path, "installation-id"), "x");
});

/** What a start on `directory` would say at `now`. */
function warningOn(directory: string, now: number): string | undefined {
  const data = DataDirectory.open(directory);
  if (!data.ok) throw new Error(data.error);
  try {
    const old = oldData(data.value, now);
    return old && restoreWarning(old);
  } finally {
    data.value.close();
  }
}

/** A server that served until STOPPED. */
function serve(): void {
  const data = DataDirectory.open(path);
  if (!data.ok) throw new Error(data.error);
  vi.useFakeTimers({ now: STOPPED });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  noteServing(data.value, () => undefined)();
  data.value.close();
}

it("data that were never served are new", () => {
  expect(warningOn(path, STOPPED)).toBeUndefined();
});

it("a server that starts again soon says nothing", () => {
  serve();
  expect(warningOn(path, STOPPED + HOUR_MS - 1)).toBeUndefined();
});

it("data that were not in use for long may be an old state of the disk", () => {
  serve();
  expect(warningOn(path, STOPPED + HOUR_MS)).toMatch(/not in use.*2026-11-01T00:00:00.000Z.*Restore/);
});

it("a copy is known, however young", async () => {
  serve();
  const copy = await mkdtemp(join(tmpdir(), "grove-unit-"));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  await cp(path, copy, { recursive: true });
  expect(warningOn(copy, STOPPED)).toMatch(/are a copy/);
});

it("a copy was served until its backup, when that is newer than the note of the minute", async () => {
  serve();
  const copy = await mkdtemp(join(tmpdir(), "grove-unit-"));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  await cp(path, copy, { recursive: true });
  const noted = (at: string) => writeFile(join(copy, "backup.json"), JSON.stringify({ at }));
  await noted("2026-11-01T00:00:42.000Z");
  expect(warningOn(copy, STOPPED)).toMatch(/last served at 2026-11-01T00:00:42.000Z/);
  // Of the backup that these data were once restored from.
  await noted("2026-10-01T00:00:00.000Z");
  expect(warningOn(copy, STOPPED)).toMatch(/last served at 2026-11-01T00:00:00.000Z/);
});

it("a clock that has gone back is named, at the start and later, and not one that was corrected", () => {
  serve();
  const data = DataDirectory.open(path);
  if (!data.ok) throw new Error(data.error);
  onTestFinished(() => data.value.close());
  const said: string[] = [];
  vi.setSystemTime(STOPPED - HOUR_MS * 48);
  const stop = noteServing(data.value, (warning) => said.push(warning));
  expect(said).toEqual([expect.stringMatching(/^the clock is 2 days behind 2026-11-01T00:00:00.000Z, when .*expired/)]);
  vi.setSystemTime(STOPPED - HOUR_MS * 48 - 50_000);
  vi.advanceTimersByTime(60_000);
  expect(said).toHaveLength(1);
  vi.setSystemTime(STOPPED - HOUR_MS * 51);
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([said[0], expect.stringContaining("the clock is 3 h behind")]);
  stop();
  expect(said).toHaveLength(2);
});

it("says nothing of a note that was cut off", async () => {
  serve();
  await writeFile(join(path, "last-served"), '{"at":"20');
  expect(warningOn(path, STOPPED + 9 * HOUR_MS)).toBeUndefined();
});
