import { exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { GenerationalCache } from "../base/generational-cache.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { openText, sealText } from "../crypto/sealed-data.ts";
import { storedJson } from "../storage/tables.ts";
import type { SigningAlgorithm } from "./key-and-role-config.ts";

/** Half of a key pair, sealed for its key id: objects do not store keys in clear text. */
export interface SealedKey {
  readonly kid: string;
  readonly sealed: Uint8Array;
}

/** A new key pair, both halves sealed. */
export interface SealedKeyPair {
  readonly kid: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}

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
    sealText(keys, contextOf("public", kid), JSON.stringify({ ...(await exportJWK(pair.publicKey)), ...common })),
    sealText(keys, contextOf("private", kid), JSON.stringify({ ...(await exportJWK(pair.privateKey)), ...common })),
  ]);
  return { kid, publicKey, privateKey };
}

/** Opens a private key. @throws when the sealed value is not that of this key id: the storage was tampered with. */
export async function openSigningKey(keys: Keys, sealed: SealedKey): Promise<CryptoKey> {
  const known = imported.get(sealed.kid);
  if (known) return known;
  const key = await importJWK(await open(keys, "private", sealed));
  if (!(key instanceof CryptoKey)) throw new Error("a signing key is not asymmetric");
  imported.set(sealed.kid, key, 1);
  return key;
}

/** Opens the public half. @throws like `openSigningKey`. */
export function openPublicKey(keys: Keys, sealed: SealedKey): Promise<JWK> {
  return open(keys, "public", sealed);
}

function contextOf(half: "public" | "private", kid: string): string {
  return `${half} half of the signing key ${kid}`;
}

async function open(keys: Keys, half: "public" | "private", { kid, sealed }: SealedKey): Promise<JWK> {
  const plain = await openText(keys, contextOf(half, kid), sealed);
  if (plain === null) throw new Error("a signing key does not open under its own id");
  return storedJson<JWK>(plain);
}
