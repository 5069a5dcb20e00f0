/** Strings in one JSON body, keys included: the limit of the reference server. */
export const MAX_JSON_STRINGS = 1000;
/** Fields of one query or form body. */
export const MAX_PARAMETERS = 1000;
/** Nesting of one JSON body. */
export const MAX_JSON_DEPTH = 64;
/** Values of any kind in one JSON body; keeps a flat list of a million numbers out. */
export const MAX_JSON_VALUES = 20_000;
/** Characters of a request path after decoding. */
export const MAX_PATH_LENGTH = 2048;
/** Characters of the text of an IP address: bounds the memory that a text which is no address can take. */
export const MAX_ADDRESS_LENGTH = 64;
/** Characters of a token header; a batch token is the longest token. */
export const MAX_TOKEN_LENGTH = 8192;
/**
 * Accessors in one request, and in one page of a receipt, so that a page can be sent as it is. Each accessor may need a
 * call to another tree, and the platform allows a request 1,000 calls; a body has at most 1,000 strings.
 */
export const MAX_NAMED_TOKENS = 900;
/** Characters of all metadata of one token together. */
export const MAX_META_LENGTH = 65_536;

/**
 * Bytes of a request body that restores a part of a backup: a page of `PAGE_CHARACTERS` in base64, whose last row can
 * exceed that size. The gateway has the same limit.
 */
export const MAX_RESTORED_BYTES = 16 * 2 ** 20;
/** Records of ended tokens that one shard of the list keeps: of tokens that jobs revoked, and of the others. */
export const MAX_ENDED = { job: 65_536, other: 16_384 } as const;

/** The lesser of two limits; 0 means no limit. */
export function lesserLimit(a: number, b: number): number {
  return a === 0 || b === 0 ? a || b : Math.min(a, b);
}
