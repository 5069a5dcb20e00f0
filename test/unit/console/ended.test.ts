import { expect, it } from "vitest";
import type { EndedToken } from "../../../client/answers.d.ts";
import { rowsOfEnded } from "../../../console/tokens/ended-rows.ts";

const ended = (accessor: string, job: string, cause: string) =>
  ({ token: { accessor }, ended: { job, cause } }) as unknown as EndedToken;

it("what one revocation ended is one row, and what ended beside it has its own", () => {
  const tokens = [
    ended("a", "j1", "a"),
    ended("b", "j1", "b"),
    ended("c", "", "c"),
    ended("d", "", "c"),
    ended("e", "", "e"),
    ended("f", "j1", "f"),
  ];
  expect(rowsOfEnded(tokens).map(({ first, others, of }) => [first.token.accessor, others, of])).toEqual([
    ["a", 1, { job: "j1" }],
    ["c", 1, { cause: "c" }],
    ["e", 0, { cause: "e" }],
    ["f", 0, { job: "j1" }],
  ]);
  expect(rowsOfEnded([])).toEqual([]);
});

it("a row is called by the token that was revoked, wherever it stands among what ended with it", () => {
  const named = (tokens: readonly EndedToken[]) =>
    rowsOfEnded(tokens).map(({ first, others }) => [first.token.accessor, others]);
  expect(named([ended("below", "", "top"), ended("top", "", "top"), ended("other", "", "top")])).toEqual([["top", 2]]);
  const job = [ended("below", "j1", "a"), ended("a", "j1", "a"), ended("b", "j1", "b")];
  expect(named(job)).toEqual([["a", 2]]);
  // The page of the list may end before it.
  expect(named([ended("x", "", "top"), ended("y", "", "top")])).toEqual([["x", 1]]);
});
