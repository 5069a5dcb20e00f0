import { expect, it } from "vitest";
import { apiPage, type ShownDocument } from "../../../scripts/docs/api.ts";
import { openApiOfUsualMounts } from "../../support/open-api.ts";

it("docs/api.md is what the table of routes says; npm run docs:api writes it", async () => {
  const document = openApiOfUsualMounts<ShownDocument>();
  await expect(apiPage(document)).toMatchFileSnapshot("../../../docs/api.md");
});
