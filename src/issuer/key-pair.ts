import { exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import { storedJson } from "../storage/tables.ts";
import type { SealedKey, SealedKeyPair, SigningAlgorithm } from "./model.ts";

/** Maximum number of imported private keys in one generation of the isolate's cache. */
const MAX_IMPORTED = 32;
const RSA_BITS = 2048;

/** Imported private keys by key id. An import takes longer than a signature. */
const imported = new GenerationalCache<string, CryptoKey>(MAX_IMPORTED);

/** Generates a key pair and seals both halves for its key id. */
export async function newKeyPair(keys: Keys, algorithm: SigningAlgorithm): Promise<SealedKeyPair> {
  const pair = await generateKeyPair(algorithm, { extractable: true, modulusLength: RSA_BITS });
  const kid = crypto.randomUUID();
  const common = { kid, alg: algorithm, use: "sig" };
  const [publicKey, privateKey] = await Promise.all([
    sealText(keys, publicContext(kid), JSON.stringify({ ...(await exportJWK(pair.publicKey)), ...common })),
    sealText(keys, privateContext(kid), JSON.stringify({ ...(await exportJWK(pair.privateKey)), ...common })),
  ]);
  return { kid, publicKey, privateKey };
}

/** Returns the private key. @throws when the sealed value is not that of this key id: the storage was tampered with. */
export async function openSigningKey(keys: Keys, { kid, sealed }: SealedKey): Promise<CryptoKey> {
  const known = imported.get(kid);
  if (known) return known;
  const key = await importJWK(await open(keys, privateContext(kid), sealed));
  if (!(key instanceof CryptoKey)) throw new Error("a signing key is not asymmetric");
  imported.set(kid, key, 1);
  return key;
}

/** Returns the public half for publication. @throws like `openSigningKey`. */
export function openPublicKey(keys: Keys, { kid, sealed }: SealedKey): Promise<JWK> {
  return open(keys, publicContext(kid), sealed);
}

function publicContext(kid: string): string {
  return `public half of the signing key ${kid}`;
}

function privateContext(kid: string): string {
  return `private half of the signing key ${kid}`;
}

async function open(keys: Keys, context: string, sealed: Uint8Array): Promise<JWK> {
  const plain = await openText(keys, context, sealed);
  if (plain === null) throw new Error("a signing key does not open under its own id");
  return storedJson<JWK>(plain);
}
