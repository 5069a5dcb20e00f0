import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { duration, flag, integer, list, pairs, text, textList, unread } from "../../../src/wire/fields.ts";
import { readFields } from "../../../src/wire/read-fields.ts";

const FIELDS = z.object({
  name: text(),
  policies: textList(),
  meta: pairs(),
  renewable: flag(true),
  ttl: duration(),
  num_uses: integer(),
  groups: list(),
  lease: unread("string"),
  described: text().describe("A text"),
  refined: integer().refine((value) => value !== 1, "expected another one"),
});

const VALUE = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, "", "30s", "x", "true", "1", "a=b", 0, 1, -5, 1.5, true, [], {}, { a: 1 }),
  fc.array(fc.constantFrom<unknown>("a", 1, null, {})),
);
const DATA = fc.dictionary(fc.constantFrom(...Object.keys(FIELDS.shape), "other", "toString"), VALUE);

describe("readFields", () => {
  it("reads the fields that were sent as if it had read them all together", () => {
    fc.assert(
      fc.property(DATA, (data) => {
        const read = readFields(FIELDS, data);
        const together = FIELDS.safeParse({ ...data });
        expect(read.ok).toBe(together.success);
        if (read.ok) expect(read.value.values).toStrictEqual(together.data);
        else
          expect(read.error).toMatchObject({
            message: expect.stringContaining(together.error?.issues[0]?.message ?? "?"),
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

  it("still looks at fields together where a schema does", () => {
    const strict = z.strictObject({ name: text() });
    expect(readFields(strict, { name: "a", other: "b" }).ok).toBe(false);
    const either = z.object({ a: text(), b: text() }).check((context) => {
      if (context.value.a === context.value.b)
        context.issues.push({ code: "custom", input: context.value, message: "!" });
    });
    expect(readFields(either, { a: "x", b: "x" }).ok).toBe(false);
  });
});
