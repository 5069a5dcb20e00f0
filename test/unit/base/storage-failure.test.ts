import { expect, it, onTestFinished, vi } from "vitest";
import { failureOfPlatform, isStorageFailure } from "../../../src/base/platform-errors.ts";

it.each([
  ["a full disk", new Error("database or disk is full: SQLITE_FULL"), true],
  ["a disk that can't be read", new Error("disk I/O error: SQLITE_IOERR_READ"), true],
  ["a read-only disk", new Error("attempt to write a readonly database: SQLITE_READONLY"), true],
  ["a commit that failed", new Error("internal error; reference = mpv6f2udc8gd4egd0jbqt0as"), true],
  ["a mistake in a statement", new Error("no such table: tokens: SQLITE_ERROR"), false],
  ["a broken rule of a table", new Error("UNIQUE constraint failed: tokens.row: SQLITE_CONSTRAINT"), false],
  ["a bug", new TypeError("x is not a function"), false],
  ["no error", "SQLITE_FULL", false],
])("%s is told apart from others", (_, error, expected) => {
  expect(isStorageFailure(error)).toBe(expected);
});

it("names the fault that the server has found behind an error that the runtime keeps to itself", async () => {
  vi.resetModules();
  onTestFinished(() => void vi.resetModules());
  const { failureOfPlatform } = await import("../../../src/base/platform-errors.ts");
  const { noteDamaged, noteDiskSpace } = await import("../../../src/base/storage-faults.ts");
  const hidden = () => failureOfPlatform(new Error("internal error; reference = mpv6f2udc8gd4egd0jbqt0as"));
  expect(hidden()).toEqual({ code: "unavailable", message: expect.stringContaining("storage"), retryAfterSeconds: 5 });
  noteDamaged(["TokenTree/0a.sqlite"]);
  expect(hidden()).toMatchObject({ fault: "database_damaged", retryAfterSeconds: 60 });
  noteDiskSpace(true, 1);
  expect(hidden()).toMatchObject({ fault: "disk_full" });
  noteDiskSpace(false, 2);
  expect(hidden()).toMatchObject({ fault: "database_damaged" });
});

it.each([
  ["SQLITE_FULL", "disk_full"],
  ["SQLITE_NOTADB", "database_damaged"],
  ["SQLITE_CORRUPT_VTAB", "database_damaged"],
])("names the fault of an error with %s", (code, fault) => {
  expect(failureOfPlatform(new Error(`an error: ${code}`))).toMatchObject({ fault });
});
