import { expect, it } from "vitest";
import { usualColumns } from "../../../console/tokens/usual-columns.ts";

it.each([
  [390, ["ends"]],
  // Beside the navigation there is less room than in a narrower window without it.
  [820, ["ends", "metadata"]],
  [850, ["ends"]],
  [1280, ["ends", "metadata", "policies", "created", "children"]],
  [1440, ["ends", "metadata", "policies", "created", "children", "accessor"]],
])("a window of %i px has room for %j", (width, names) => {
  expect(usualColumns(width)).toEqual(names);
});
