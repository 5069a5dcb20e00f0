import type { JWK } from "jose";
import { GenerationalCache } from "../base/generational-cache.ts";
import { readPublicKey } from "./jws.ts";

const MAX_KEPT_CHARACTERS = 32 * 1024;

/** The keys of a list, as they were read for the key id of the last token. */
interface Known {
  readonly kid: string | undefined;
  readonly keys: readonly JWK[];
}

/** Keys by the name of their list. One entry for each, as a client can send any key id. */
const known = new GenerationalCache<string, Known>(MAX_KEPT_CHARACTERS);

/**
 * Reads a list of public keys in PEM. They have no key id (`kid`): all of them are tried for any.
 * @param list names the list. Another list has another name.
 */
export function keysInPem(list: string, pems: readonly string[], kid: string | undefined): readonly JWK[] {
  const last = known.get(list);
  if (last && last.kid === kid) return last.keys;
  const read = pems.flatMap((pem) => readPublicKey(pem) ?? []);
  const keys = kid === undefined ? read : read.map((key) => ({ ...key, kid }));
  known.set(list, { kid, keys }, JSON.stringify(keys).length);
  return keys;
}
