import { typesOf } from "grove-openapi-types";
import { expect, it } from "vitest";
import { openApiOfUsualMounts } from "../../support/open-api.ts";
import { type AnsweringDocument, answersOf } from "../../support/pages/answers.ts";

it("client/answers.d.ts is what the OpenAPI document says; npm run client:answers writes it", async () => {
  const document = answersOf(openApiOfUsualMounts<AnsweringDocument>());
  const types = await typesOf(document, {
    immutable: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    emptyObjectsUnknown: true,
  });
  await expect(types).toMatchFileSnapshot("../../../client/answers.d.ts");
});
