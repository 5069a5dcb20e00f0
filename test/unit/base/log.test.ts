import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { logFailedWork } from "../../../src/base/log.ts";
import { failureOfException } from "../../../src/wire/failure.ts";

const LOST = new Error("Network connection lost.");

let lines: string[];

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
});

afterEach(() => {
  vi.useRealTimers();
});

it("lost calls of background work are one line of a type in ten seconds; other failures are all logged", () => {
  for (let time = 0; time < 20; time++) {
    logFailedWork("sweep", LOST);
    logFailedWork("list of accessors", LOST);
  }
  expect(lines).toHaveLength(2);
  vi.advanceTimersByTime(10_001);
  logFailedWork("sweep", LOST);
  expect(lines).toHaveLength(3);
  for (let time = 0; time < 2; time++) logFailedWork("sweep", new Error("no such table"));
  expect(lines).toHaveLength(5);
});

it("a request whose call was lost has one short line, and no line of a bug", () => {
  expect(failureOfException(LOST, "id")).toMatchObject({ code: "unavailable" });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { type: "lost_call", request_id: "id", error: "Error: Network connection lost." },
  ]);
  failureOfException(new Error("bug"), "id");
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ type: "exception", request_id: "id" });
});
