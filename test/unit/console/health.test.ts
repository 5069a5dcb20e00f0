import { expect, it } from "vitest";
import { linksOfCheck } from "../../../console/health/check-links.ts";
import { cleanUpText } from "../../../console/health/clean-up-text.ts";

it("a clean-up with nothing left waits for nothing that somebody could see", () => {
  const text = (clean_up: string, tokens_left: number | null) =>
    cleanUpText({ entity_id: "e1", clean_up, tokens_left });
  expect(text("waits for tidy", 0)).toBe("done, as far as the map shows");
  expect(text("waits for tidy", 2)).toBe("waits for tidy");
  expect(text("finished", 0)).toBe("finished");
  expect(text("running", null)).toBe("running");
  // As its receipt says: the number of a path counts tokens that went with their parents too.
  expect(cleanUpText({ prefix: "auth/ci/", clean_up: "running", tokens_left: 0 })).toBe("running");
});

it("a check leads to the pages that show what it is about", () => {
  expect(linksOfCheck("leases").map(({ to }) => to)).toEqual(["/ui/leases?show=failing", "/ui/ended"]);
  expect(linksOfCheck("root_tokens").map(({ to }) => to)).toEqual(["/ui/tokens?policy=root"]);
  expect(linksOfCheck("clock")).toEqual([]);
});
