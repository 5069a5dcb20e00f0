/** The source of the types of an OpenAPI document. */
export function typesOf(document: Record<string, unknown>): Promise<string>;
