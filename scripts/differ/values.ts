import type { Choices } from "../local/choices.ts";

/** What a field holds, for the values that may be sent in it. */
export type Kind = "bool" | "duration" | "int" | "text" | "list" | "pairs" | "policies" | "cidrs";

type Values = readonly [unknown, ...unknown[]];

const GOOD: Readonly<Record<Kind, Values>> = {
  bool: [true, false, "true", "false", 1, 0],
  duration: ["1h", 600, "90", "1h30m", "2d", "0", 0, "30s", ""],
  int: [0, 1, 3, "5"],
  text: ["a", "some-text", "x.y", ""],
  list: ["a,b", ["a", "b"], [], "a", ""],
  pairs: [{ a: "b" }, {}, { n: 5, t: true }, ["a=b"]],
  policies: ["default", ["default"], ["root"], "dfa", ["dfa", "default"], [], ["dfa", "dfb"]],
  cidrs: ["127.0.0.1/32", ["10.0.0.0/8", "::1"], [], "1.2.3.4", "10.1.2.3/8"],
};

/** Sent in any field now and then. */
const ODD: Values = [null, true, -1, "-1h", " 1h", 1.5, "x", "soon", {}, [], { a: 1 }, [["a"]], "1e3", "a,,b ", "é", 0];

/** A value for a field: mostly one that fits. */
export function valueFor(choices: Choices, kind: Kind): unknown {
  return choices.chance(0.8) ? choices.pick(GOOD[kind]) : choices.pick(ODD);
}

/** Some of the fields, each with a value. */
export function someFields(
  choices: Choices,
  fields: Readonly<Record<string, Kind>>,
  share = 0.25,
): Record<string, unknown> {
  const names = choices.some(Object.keys(fields), share);
  return Object.fromEntries(names.map((name) => [name, valueFor(choices, fields[name] ?? "text")]));
}
