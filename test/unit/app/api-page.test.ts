import { expect, it } from "vitest";
import { openApiOfUsualMounts } from "../../support/open-api.ts";
import { apiPage, type ShownDocument } from "../../support/pages/api.ts";

it("docs/api.md is what the table of routes says; npm run docs:api writes it", async () => {
  const document = openApiOfUsualMounts<ShownDocument>();
  await expect(apiPage(document)).toMatchFileSnapshot("../../../docs/api.md");
});
