import { describe, expect, it } from "vitest";
import { didYouMean, nearestWord } from "../../../scripts/local/did-you-mean.ts";

const KNOWN = ["tokens", "tree", "revoke", "restore", "find", "doctor"];

describe("the nearest word", () => {
  it.each([
    ["toknes", "tokens"],
    ["token", "tokens"],
    ["ttree", "tree"],
    ["Revok", "revoke"],
    ["restrore", "restore"],
    ["dcotro", "doctor"],
  ])("to %s is %s", (word, nearest) => expect(nearestWord(word, KNOWN)).toBe(nearest));

  it.each(["", "x", "forest", "constructor", "t".repeat(10_000)])("to %s is none", (word) => {
    expect(nearestWord(word, KNOWN)).toBeUndefined();
  });

  it("is none where nothing is known", () => expect(nearestWord("tree", [])).toBeUndefined());
});

it("an option that other servers call otherwise is named, when it is known", () => {
  const options = ["--data", "--listen"];
  for (const word of ["--port", "--bind", "--host", "--address"])
    expect(didYouMean(word, options)).toBe("; did you mean --listen?");
  expect([didYouMean("--port", ["--data"]), didYouMean("--dev", options)]).toEqual(["", ""]);
  expect(didYouMean("--prot", ["--port"])).toBe("; did you mean --port?");
});
