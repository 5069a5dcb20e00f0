import { afterEach, beforeEach } from "vitest";

/** Lines of one test that are kept: the last of them show what went before a failure. */
const MOST = 1000;

/**
 * Keeps what is logged, and writes it when the test has failed: every request writes audit lines, and only a failing test's are
 * worth reading. The runner itself would wait at the end of a file for lines of objects that it never gets to send.
 */
let lines: (() => void)[] = [];

for (const method of ["debug", "error", "info", "log", "warn"] as const) {
  const write = console[method].bind(console);
  console[method] = (...line: unknown[]) => {
    lines.push(() => write(...line));
    if (lines.length > 2 * MOST) lines = lines.slice(-MOST);
  };
}

beforeEach(() => {
  lines = [];
});
afterEach(({ task }) => {
  if (task.result?.state === "fail") for (const write of lines.slice(-MOST)) write();
  lines = [];
});
