import { expect, it } from "vitest";
import { isStorageFailure } from "../../../src/base/platform-errors.ts";

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
