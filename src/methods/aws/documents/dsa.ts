import { toHex } from "../../../crypto/bytes.ts";
import { contentOf, type Element, membersOf, readBer, TAG } from "./ber.ts";

/*
 * WebCrypto has no DSA, and the runtime's `node:crypto` does not verify it. In workerd 1.20261117.1, with a document
 * that the cloud signed and that Node 24.21.0 verifies, `createPublicKey` reads the key (`dsa`, 1024 and 160 bits). But
 * `verify` and `createVerify` throw "Verifying with DSA keys is not currently supported" for every digest, and
 * `X509Certificate.publicKey` throws "Unsupported key type". test/workers/methods/aws/platform.test.ts fails when that
 * changes.
 */

/** A DSA public key (FIPS 186-4 section 4.1). All values are public, so no step needs constant time. */
export type DsaKey = { readonly p: bigint; readonly q: bigint; readonly g: bigint; readonly y: bigint };

/**
 * Reads a key from the DER of its parameters (RFC 3279: p, q, g) and of its public value. Null when a part is
 * malformed, a size is invalid, or g or y does not generate a group of order q.
 */
export function readDsaKey(parametersDer: Uint8Array, publicValueDer: Uint8Array): DsaKey | null {
  const publicValue = readBer(publicValueDer);
  const [p, q, g, ...more] = readIntegers(parametersDer);
  const y = publicValue.ok ? readInteger(publicValue.value) : null;
  if (p === undefined || q === undefined || g === undefined || y === null || more.length > 0) return null;
  // Sizes of FIPS 186-4, in bits.
  const [pBits, qBits] = [bitLength(p), bitLength(q)];
  if (pBits < 1024 || pBits > 3072 || qBits < 160 || qBits > 256) return null;
  const generatesGroup = (value: bigint) => value > 1n && value < p && power(value, q, p) === 1n;
  return generatesGroup(g) && generatesGroup(y) ? { p, q, g, y } : null;
}

/**
 * Verifies a DSA signature (FIPS 186-4 section 4.7) of a message with this digest. The signature is the DER of a
 * SEQUENCE of r and s, each from 1 to q - 1. Other encodings are refused.
 */
export function verifyDsa(key: DsaKey, digest: Uint8Array, signatureDer: Uint8Array): boolean {
  const [r, s, ...more] = readIntegers(signatureDer);
  if (r === undefined || s === undefined || more.length > 0) return false;
  const { p, q, g, y } = key;
  if (r <= 0n || r >= q || s <= 0n || s >= q) return false;

  const z = leftmostBits(digest, bitLength(q));
  const w = power(s, q - 2n, q);
  const u1 = (z * w) % q;
  const u2 = (r * w) % q;
  return ((power(g, u1, p) * power(y, u2, p)) % p) % q === r;
}

/** Reads a SEQUENCE of integers; [] for anything else. */
function readIntegers(der: Uint8Array): bigint[] {
  const sequence = readBer(der);
  const integers = sequence.ok ? membersOf(sequence.value, TAG.SEQUENCE)?.map(readInteger) : null;
  return integers?.every((integer) => integer !== null) ? integers : [];
}

/** Reads a non-negative INTEGER in its shortest form; null for any other element. */
function readInteger(element: Element): bigint | null {
  const content = contentOf(element, TAG.INTEGER);
  const [first, second] = content ?? [];
  if (!content || first === undefined || first >= 0x80) return null;
  if (first === 0 && second !== undefined && second < 0x80) return null;
  return toBigInt(content);
}

function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x0${toHex(bytes)}`);
}

function leftmostBits(digest: Uint8Array, bits: number): bigint {
  const excess = digest.length * 8 - bits;
  return excess > 0 ? toBigInt(digest) >> BigInt(excess) : toBigInt(digest);
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  let square = base % modulus;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}
