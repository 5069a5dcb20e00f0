import { expect, test } from "vitest";
import type { Ms, Seconds } from "../../../src/base/clock.ts";

/** The compiler is the test: `npm run check` fails when one of the marked lines is accepted. */
test("a time in one unit is not accepted where the other is expected", () => {
  const pause: Ms = 1500;
  const ttl: Seconds = 60;
  // @ts-expect-error seconds where ms are expected
  const wrongPause: Ms = ttl;
  // @ts-expect-error ms where seconds are expected
  const wrongTtl: Seconds | null = pause;
  // @ts-expect-error a record with seconds where one with ms is expected
  const wrongRecord: { readonly at: Ms | null } = { at: ttl };
  expect([wrongPause, wrongTtl, wrongRecord.at]).toEqual([60, 1500, 60]);
});

test("numbers from arithmetic are accepted in either unit", () => {
  const ttl: Seconds = 60;
  const asMs: Ms = ttl * 1000;
  const back: Seconds = asMs / 1000;
  const sum: number = asMs + back;
  expect(sum).toBe(60_060);
});
