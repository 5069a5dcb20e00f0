import type { JWK } from "jose";
import { currentTime } from "../base/clock.ts";
import { IsolateCopy } from "../base/isolate-copy.ts";
import { ok, type Result } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import { maxCopyAgeMs } from "../system/copy-age.ts";
import type { Installation } from "../system/installation.ts";
import type { IssuerEnv } from "./env.ts";
import { newKeyPair, openPublicKey } from "./key-pair.ts";
import { issuerOf, type PublishedKeys } from "./oidc-issuer.ts";
import { DEFAULT_KEY, type KeyWrite, NEW_KEY } from "./rules.ts";

/** The published data of the issuer, as an isolate caches them. */
export interface KnownIssuer extends Pick<PublishedKeys, "issuer" | "revision"> {
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Seconds for which verifiers may cache the keys (Cache-Control). */
  readonly maxAge: number;
}

const MAX_AGE_SECONDS = 3600;
/** A new version is published a rotation period before it signs. Verifiers may cache the keys for this share of it. */
const ROTATIONS_KEPT = 0.25;

/** This isolate's copy, under one key. */
const copies = new IsolateCopy<"issuer", KnownIssuer>(1, (one, other) => one.revision === other.revision);

/** Returns the issuer's public keys, no older than POLICY_CACHE_SECONDS: usually without a call. */
export async function loadPublishedKeys(env: IssuerEnv, installation: Installation): Promise<KnownIssuer> {
  const known = await copies.load("issuer", maxCopyAgeMs(env), async () => {
    const before = copies.copied("issuer")?.value;
    const answer = await issuerOf(env).published(before?.revision ?? null);
    if (answer === null) return before;
    const { issuer, revision, shortestRotation } = answer;
    const keys = await Promise.all(answer.keys.map((key) => openPublicKey(installation.keys, key)));
    const maxAge = Math.min(MAX_AGE_SECONDS, Math.floor((shortestRotation ?? 0) * ROTATIONS_KEPT));
    return { issuer, jwks: { keys }, maxAge, revision };
  });
  if (!known) throw new Error("the issuer answered nothing to an isolate that knows nothing");
  return known;
}

/** Drops this isolate's copy of the keys. Called after each of its writes, so that the writer sees it at once. */
export function forgetPublishedKeys(): void {
  copies.clear();
}

/** Writes a key. Generates key pairs, which is slow, only when the object answers that it needs them. */
export async function writeSigningKey(
  env: IssuerEnv,
  keys: Keys,
  name: string,
  write: KeyWrite,
): Promise<Result<null>> {
  const issuer = issuerOf(env);
  let written = await issuer.writeKey(name, write, null, currentTime());
  if (written.ok && written.value === "needs_versions") {
    const algorithm = write.algorithm ?? NEW_KEY.algorithm;
    const [signing, next] = await Promise.all([newKeyPair(keys, algorithm), newKeyPair(keys, algorithm)]);
    written = await issuer.writeKey(name, write, { signing, next }, currentTime());
  }
  forgetPublishedKeys();
  return written.ok ? ok(null) : written;
}

/** Creates the default key unless it exists. */
export async function ensureDefaultKey(env: IssuerEnv, keys: Keys): Promise<Result<null>> {
  if (await issuerOf(env).readKey(DEFAULT_KEY)) return ok(null);
  return writeSigningKey(env, keys, DEFAULT_KEY, { allowedClientIds: ["*"] });
}
