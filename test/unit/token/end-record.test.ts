import { expect, it } from "vitest";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { pathScope } from "../../../src/system/watermarks.ts";
import { endByWatermark } from "../../../src/token/end-record.ts";

it("a watermark ends a token when it was made, or now if its number is ahead of the clock or it is not known", () => {
  const asked = { ...NO_ORIGIN, request: "who asked" };
  const numbered = (number: number) => ({ number, scope: pathScope("a/"), createdBefore: null, cleaned: false, asked });
  const how = "revoked by path or entity";
  expect(endByWatermark(numbered(1_000), 5_000)).toEqual({ ...asked, at: 1_000, how });
  expect(endByWatermark(numbered(6_000), 5_000)).toEqual({ ...asked, at: 5_000, how });
  expect(endByWatermark(null, 5_000)).toEqual({ ...NO_ORIGIN, at: 5_000, how });
});
