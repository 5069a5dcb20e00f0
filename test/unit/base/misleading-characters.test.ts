import { describe, expect, it } from "vitest";
import { hasMisleadingBlanks } from "../../../src/base/misleading-characters.ts";

describe("blanks in a name", () => {
  it.each([" a", "a ", "a  b", "a\u00a0b", "a\u3000b", "a\tb", "a\u2800", "a\u3164", "a\u00adb", "a\ufe0f", " "])(
    "%j can look like another name",
    (name) => expect(hasMisleadingBlanks(name)).toBe(true),
  );

  it.each(["", "a b", "a b c", "Jürgen", "a-b", "entity_1.root", "名前"])("%j can not", (name) =>
    expect(hasMisleadingBlanks(name)).toBe(false),
  );
});
