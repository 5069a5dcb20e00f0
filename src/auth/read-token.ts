import { currentTime } from "../base/clock.ts";
import { Copies } from "../base/copies.ts";
import { GenerationalCache } from "../base/generational-cache.ts";
import { withoutWhiteSpace } from "../base/white-space.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { Env } from "../env.ts";
import { freshCopies } from "../system/copy-age.ts";
import { mayContain } from "../system/custom-id-list.ts";
import { type Installation, MAX_CACHED_TOKEN_CHARACTERS } from "../system/installation.ts";
import { type BatchToken, openBatchToken } from "../token/batch.ts";
import {
  BATCH_PREFIX,
  couldBeCustomId,
  customIdHashes,
  readServiceToken,
  SERVICE_PREFIX,
  type TokenCredential,
} from "../token/ids.ts";
import { customIdsOf } from "../tree/custom-ids.ts";
import type { CredentialFormat, RegisteredToken } from "./credential.ts";

/** A parsed token of a request. This installation issued it; whether it is alive is not known yet. */
export type ParsedToken =
  | { readonly kind: "service"; readonly text: string; readonly credential: TokenCredential }
  | { readonly kind: "batch"; readonly text: string; readonly token: BatchToken }
  | RegisteredToken;

/**
 * Parses a token; null for "" and for a token that was not issued here. White space is removed, since pasted tokens
 * often contain some. A wrong tag or seal is refused without a call to an object.
 */
export async function readToken(env: Env, installation: Installation, sent: string): Promise<ParsedToken | null> {
  const text = withoutWhiteSpace(sent);
  const form = formOf(env, text);
  if (!form) {
    const credential = await readCustomId(env, installation, text);
    return credential && { kind: "service", text, credential };
  }
  const { keys } = installation;
  const known = tokensRead.get(text);
  // A cached token counts only under the keys that verified it.
  if (known?.keys === keys) return known.token;
  const token = await readGenerated(keys, text, form);
  // Only genuine tokens are cached: forged texts must not evict them.
  if (token) tokensRead.set(text, { keys, token }, text.length);
  return token;
}

/** Parsed tokens, with the keys that verified them. A token's content never changes. Liveness is not cached here. */
const tokensRead = new GenerationalCache<string, { readonly keys: Keys; readonly token: ParsedToken }>(
  MAX_CACHED_TOKEN_CHARACTERS,
);

/** True when the text has the form of a generated token. The tag or seal in such a token authenticates its content. */
export function isGenerated(env: Env, text: string): boolean {
  return formOf(env, text) !== null;
}

type TokenForm = "service" | "batch" | CredentialFormat;

/**
 * Returns the kind of a generated token by its form; null for another text. The prefix of most tokens decides at once.
 */
function formOf({ kinds }: Env, text: string): TokenForm | null {
  if (text.startsWith(SERVICE_PREFIX)) return "service";
  if (text.startsWith(BATCH_PREFIX)) return "batch";
  return kinds.credentials.find(({ format }) => format.matches(text))?.format ?? null;
}

/** Maximum number of custom ids in one generation of the cache. */
const MAX_CUSTOM_IDS = 1024;

/** Addresses of tokens by custom id, as this isolate read them from the directory. Liveness is not cached here. */
const customIds = new Copies<string, TokenCredential | undefined>(MAX_CUSTOM_IDS);

/** Reads a custom id; null for an id that no token has. A hit is cached for POLICY_CACHE_SECONDS. */
async function readCustomId(env: Env, installation: Installation, text: string): Promise<TokenCredential | null> {
  if (!couldBeCustomId(text)) return null;
  const credential = await customIds.load(text, freshCopies(env), () => findCustomId(env, installation, text));
  return credential ?? null;
}

async function findCustomId(env: Env, installation: Installation, text: string): Promise<TokenCredential | undefined> {
  for (const { whole, directoryKey, verifier } of await customIdHashes(installation.keys, text, currentTime())) {
    if (!mayContain(installation.customIdList, whole)) continue;
    const address = await customIdsOf(env, directoryKey).find(directoryKey);
    if (address) return { ...address, verifier };
  }
  return undefined;
}

/** Drops the cached address of a custom id. Called when another token gets the id. */
export function forgetCustomId(text: string): void {
  customIds.forget(text);
}

async function readGenerated(keys: Keys, text: string, form: TokenForm): Promise<ParsedToken | null> {
  if (form === "batch") {
    const token = await openBatchToken(keys, text);
    return token && { kind: "batch", text, token };
  }
  if (form !== "service") return form.read(keys, text);
  const credential = await readServiceToken(keys, text);
  return credential && { kind: "service", text, credential };
}
