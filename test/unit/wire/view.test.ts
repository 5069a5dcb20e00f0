import { expect, it } from "vitest";
import { fieldsOf, inner, type ViewFields, view } from "../../../src/wire/view.ts";

interface Owner {
  readonly name: string;
}

interface Thing {
  readonly id: number;
  readonly note?: string;
  readonly owner: Owner;
}

const OWNER: ViewFields<Owner> = { "owner-name": ["string", ({ name }) => name] };

const THING = view<Thing>({
  id: ["integer", ({ id }) => id],
  "note?": ["string", ({ note }) => note],
  nothing: ["string | null", () => null],
  ...fieldsOf(({ owner }) => owner, OWNER),
  inside: inner({ "note?": ["string", ({ note }) => note], names: [["string"], ({ owner }) => [owner.name]] }),
});

const owner = { name: "ada" };

it("a view describes and shows the same names", () => {
  expect(THING.shape).toEqual({
    id: "integer",
    "note?": "string",
    nothing: "string | null",
    "owner-name": "string",
    inside: { "note?": "string", names: ["string"] },
  });
  const shown = THING.show({ id: 1, note: "n", owner });
  const names = Object.keys(THING.shape).map((name) => name.replace("?", ""));
  expect(Object.keys(shown)).toEqual(names);
  expect(shown.inside).toEqual({ note: "n", names: ["ada"] });
});

it("a field without a value is left out, and null is a value", () => {
  const shown = THING.show({ id: 1, owner });
  expect(JSON.stringify(shown)).toBe('{"id":1,"nothing":null,"owner-name":"ada","inside":{"names":["ada"]}}');
  expect("note" in shown).toBe(false);
});
