import openapiTS, { astToString } from "openapi-typescript";

/**
 * The source of the types of an OpenAPI document.
 *
 * @param {Record<string, unknown>} document
 * @param {import("openapi-typescript").OpenAPITSOptions} [options]
 * @returns {Promise<string>}
 */
export async function typesOf(document, options) {
  return astToString(await openapiTS(document, options));
}
