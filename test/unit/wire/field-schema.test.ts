import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fieldSchema, readFields, readValues, strictSchema } from "../../../src/wire/field-schema.ts";
import { duration, flag, integer, list, pairs, text, textList, unread } from "../../../src/wire/fields.ts";
import { exactString } from "../../../src/wire/json-type-fields.ts";

const FIELDS = fieldSchema({
  name: text(),
  policies: textList(),
  meta: pairs(),
  renewable: flag(true),
  ttl: duration(),
  num_uses: integer(),
  groups: list(),
  lease: unread("string"),
  described: text().describe("A text"),
});

const VALUE = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, "", "30s", "x", "true", "1", "a=b", 0, 1, -5, 1.5, true, [], {}, { a: 1 }),
  fc.array(fc.constantFrom<unknown>("a", 1, null, {})),
);
const DATA = fc.dictionary(fc.constantFrom(...FIELDS.entries.map(([name]) => name), "other", "toString"), VALUE);

describe("readFields", () => {
  it("reads the fields that were sent as if it had read them all", () => {
    fc.assert(
      fc.property(DATA, (data) => {
        const read = readFields(FIELDS, data);
        const all = FIELDS.entries.map(([name, field]) => ({
          name,
          // A null is absent.
          value: field.read(Object.hasOwn(data, name) ? (data[name] ?? undefined) : undefined),
        }));
        const problem = all.find(({ value }) => !value.ok)?.value;
        expect(read.ok).toBe(problem === undefined);
        if (read.ok)
          expect(read.value.values).toEqual(
            Object.fromEntries(all.map(({ name, value }) => [name, value.ok && value.value])),
          );
        else
          expect(read.error).toMatchObject({
            message: expect.stringContaining(problem?.ok === false ? problem.error : "?"),
          });
      }),
    );
  });

  it("names the first field of the schema that can't be read, whatever came first", () => {
    const read = readFields(FIELDS, { num_uses: "many", name: {} });
    expect(read).toMatchObject({ error: { message: expect.stringContaining('field "name": expected a string') } });
  });

  it("gives every request values of its own", () => {
    const first = readFields(FIELDS, {});
    if (first.ok) first.value.values.name = "changed";
    expect(readFields(FIELDS, {})).toMatchObject({ value: { values: { name: "", renewable: true } } });
  });

  it("refuses other names where a schema does", () => {
    expect(readFields(strictSchema({ name: text() }), { name: "a", other: "b" }).ok).toBe(false);
  });

  it("misses a field that must be sent", () => {
    const read = readValues(fieldSchema({ name: exactString("can't be blank") }), {});
    expect(read).toEqual({ ok: false, error: { name: "name", message: "can't be blank" } });
  });
});
