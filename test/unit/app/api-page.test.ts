import { expect, it } from "vitest";
import { apiPage, type ShownDocument } from "../../../scripts/docs/api.ts";
import { openApiDocument } from "../../../src/app/openapi/document.ts";
import { usualPlaces } from "../../../src/app/openapi/routes.ts";
import { ROUTES_BY_PLACE } from "../../../src/app/routes.ts";

it("docs/api.md is what the table of routes says; npm run docs:api writes it", async () => {
  const document = openApiDocument(usualPlaces(ROUTES_BY_PLACE), "") as unknown as ShownDocument;
  await expect(apiPage(document)).toMatchFileSnapshot("../../../docs/api.md");
});
