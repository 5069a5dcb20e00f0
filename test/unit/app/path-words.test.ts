import { expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";
import { PATH_WORDS } from "../../../src/wire/audit-masking.ts";

it("the words of paths that may be logged are those of the endpoints, and no others", () => {
  const { fixed, apis, byMountType } = TABLES;
  const routes = [fixed, ...apis, ...byMountType.values()].flatMap((table) => table.routes);
  // The rest of a path, `:name{.+/tune}`, has the word with which it ends.
  const words = routes.flatMap(({ path }) => path.replace(/:\w+\{[^/}]*\/?/g, "").split("/"));
  const known = new Set(
    words.map((word) => word.replace("}", "")).filter((word) => word !== "" && !word.startsWith(":")),
  );
  expect([...PATH_WORDS].sort()).toEqual([...known].sort());
});
