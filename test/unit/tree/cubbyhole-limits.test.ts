import { describe, expect, it } from "vitest";
import { cubbyholeProblem, MAX_BYTES, MAX_ENTRIES, MAX_VALUE_BYTES } from "../../../src/tree/cubbyhole.ts";

describe("what a token may keep", () => {
  it.each([
    ["a first value of the largest size", { entries: 0, bytes: 0 }, MAX_VALUE_BYTES, null],
    ["a larger one", { entries: 0, bytes: 0 }, MAX_VALUE_BYTES + 1, /too large/],
    ["the last value there is a place for", { entries: MAX_ENTRIES - 1, bytes: 0 }, 1, null],
    ["one more", { entries: MAX_ENTRIES, bytes: 0 }, 1, /at most 1000 values/],
    ["the last byte there is room for", { entries: 1, bytes: MAX_BYTES - 1 }, 1, null],
    ["one more byte", { entries: 1, bytes: MAX_BYTES - 1 }, 2, /at most 16 MiB/],
  ])("%s", (_, others, bytes, message) => {
    const problem = cubbyholeProblem(others, bytes);
    if (message === null) expect(problem).toBeNull();
    else expect(problem).toMatchObject({ code: "invalid_request", message: expect.stringMatching(message) });
  });
});
