import openapiTS, { astToString } from "openapi-typescript";

/**
 * The source of the types of an OpenAPI document.
 *
 * @param {Record<string, unknown>} document
 * @returns {Promise<string>}
 */
export async function typesOf(document) {
  return astToString(await openapiTS(document));
}
