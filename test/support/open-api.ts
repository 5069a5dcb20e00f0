import { openApiDocument, usualPlaces } from "../../src/app/openapi/document.ts";
import { TABLES } from "../../src/app/routes.ts";

/** The OpenAPI document of the usual mounts as a client reads it: of what it says, the part that `Document` names. */
export function openApiOfUsualMounts<Document>(): Document {
  return JSON.parse(JSON.stringify(openApiDocument(usualPlaces(TABLES), ""))) as Document;
}
