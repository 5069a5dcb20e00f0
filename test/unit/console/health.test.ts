import { expect, it } from "vitest";
import { cleanUpText } from "../../../console/health/clean-up.ts";
import { placesOf } from "../../../console/health/places.ts";

it("a clean-up with nothing left waits for nothing that somebody could see", () => {
  const text = (clean_up: string, tokens_left: number | null) => cleanUpText({ clean_up, tokens_left });
  expect(text("waits for tidy", 0)).toBe("done, as far as the map shows");
  expect(text("waits for tidy", 2)).toBe("waits for tidy");
  expect(text("finished", 0)).toBe("finished");
  expect(text("running", null)).toBe("running");
});

it("a check leads to the pages that show what it is about", () => {
  expect(placesOf("leases").map(({ to }) => to)).toEqual(["/ui/leases", "/ui/ended"]);
  expect(placesOf("root_tokens").map(({ to }) => to)).toEqual(["/ui/tokens?policy=root"]);
  expect(placesOf("clock")).toEqual([]);
});
