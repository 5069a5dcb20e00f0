import { RESPONSE_WRAPPING_POLICY } from "../policy/builtin.ts";
import { madeAbove, PLAIN_RECORD, type TokenRecord, type TokenSpec } from "./record.ts";

/** True for a token that holds a wrapped answer. Its policy can't be assigned to a token of another kind. */
export function isWrappingToken(record: Pick<TokenRecord, "policies">): boolean {
  return record.policies.length === 1 && record.policies[0] === RESPONSE_WRAPPING_POLICY;
}

/**
 * Plans the token that holds a wrapped answer: an orphan with one use that expires after `ttl` seconds. Its holder can
 * look up `creationPath`, the path of the wrapped request. `watermark`: number of the newest one; 0: none.
 */
export function wrappingToken(creationPath: string, ttl: number, watermark: number, now: number): TokenSpec {
  return {
    type: "service",
    orphan: true,
    expiresAt: now + ttl * 1000,
    record: {
      ...PLAIN_RECORD,
      policies: [RESPONSE_WRAPPING_POLICY],
      displayName: "",
      path: creationPath,
      createdAt: now,
      creationTtl: ttl,
      explicitMaxTtl: ttl,
      numUses: 1,
      ...madeAbove(watermark),
    },
  };
}
