import type { Ms } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import { fromBase64Url, toBase64Url } from "../crypto/bytes.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import { storedJson } from "../storage/tables.ts";
import { BATCH_PREFIX, type TokenAddress } from "./ids.ts";
import type { TokenRecord, TokenSpec } from "./record.ts";

/** Characters of a batch token, which is sent in a header of every request. */
const MAX_BATCH_TOKEN_LENGTH = 8000;

const CONTEXT = "batch token";

/** The content of a batch token. It is not stored anywhere else. */
export interface BatchToken {
  readonly record: TokenRecord;
  /** A batch token always ends. */
  readonly expiresAt: Ms;
  /** The token whose end also ends this one; null for an orphan. */
  readonly parent: TokenAddress | null;
}

/** Seals a new batch token. Returns its text, or a 400 when that is too long for a header. */
export async function sealBatchToken(
  keys: Keys,
  spec: TokenSpec,
  parent: TokenAddress | null,
): Promise<Result<string>> {
  if (spec.expiresAt === null) throw new Error("the rules give every batch token an end");
  const token: BatchToken = { record: spec.record, expiresAt: spec.expiresAt, parent };
  const sealed = await sealText(keys, CONTEXT, JSON.stringify(token));
  const text = BATCH_PREFIX + toBase64Url(sealed);
  if (text.length > MAX_BATCH_TOKEN_LENGTH) {
    return refuse("policies and meta are too large for a batch token, which carries them itself");
  }
  return ok(text);
}

/** Opens a batch token. Null for anything that this installation did not seal. Does not check whether it is alive. */
export async function openBatchToken(keys: Keys, text: string): Promise<BatchToken | null> {
  if (text.length > MAX_BATCH_TOKEN_LENGTH) return null;
  const sealed = fromBase64Url(text.slice(BATCH_PREFIX.length));
  const plain = sealed && (await openText(keys, CONTEXT, sealed));
  return plain === null ? null : storedJson<BatchToken>(plain);
}
