import { createLocalJWKSet, errors, type JWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { currentTime, type Ms, type Seconds } from "../base/clock.ts";
import { Copies } from "../base/copies.ts";
import { changedOnce } from "../base/lost-call-retry.ts";
import { err, ok, type Result, refuse } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { WriteGrants } from "../policy/write-grants.ts";
import { freshCopies } from "../system/copy-age.ts";
import type { Installation } from "../system/installation.ts";
import type { IssuerEnv } from "./env.ts";
import { DEFAULT_KEY, type KeyWrite, NEW_KEY, SIGNING_ALGORITHMS } from "./key-and-role-config.ts";
import { newKeyPair, openPublicKey, openSigningKey, type SealedKeyPair } from "./key-pair.ts";
import { type KeyVersions, oidcIssuerOf, type PublishedKeys, type TokenSigner } from "./oidc-issuer.ts";

/** The published data of the issuer, as an isolate caches them. */
export interface KnownIssuer extends Pick<PublishedKeys, "issuer" | "revision"> {
  readonly jwks: { readonly keys: readonly JWK[] };
  /** How long verifiers may cache the keys (Cache-Control). */
  readonly maxAge: Seconds;
}

const MAX_AGE_SECONDS = 3600;
/** A new version is published a rotation period before it signs. Verifiers may cache the keys for this share of it. */
const ROTATIONS_KEPT = 0.25;

/** This isolate's copy, under one key. */
const copies = new Copies<"issuer", KnownIssuer>(1);

/** Returns the issuer's public keys, no older than POLICY_CACHE_SECONDS: usually without a call. */
export async function loadPublishedKeys(env: IssuerEnv, installation: Installation): Promise<KnownIssuer> {
  return copies.load("issuer", freshCopies(env), async () => {
    const before = copies.copied("issuer")?.answer;
    const answer = await oidcIssuerOf(env).published(before?.revision ?? null);
    if (answer === null) {
      if (!before) throw new Error("the issuer returned no data to an isolate without a copy");
      return before;
    }
    const { issuer, revision, shortestRotation } = answer;
    const keys = await Promise.all(answer.keys.map((key) => openPublicKey(installation.keys, key)));
    const maxAge = Math.min(MAX_AGE_SECONDS, Math.floor((shortestRotation ?? 0) * ROTATIONS_KEPT));
    return { issuer, jwks: { keys }, maxAge, revision };
  });
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
  grants: WriteGrants,
): Promise<Result<null>> {
  const now = currentTime();
  const writeWith = (versions: KeyVersions | null) =>
    changedOnce(env, (attempt) => oidcIssuerOf(env).writeKey(name, write, grants, versions, now, attempt));
  let written = await writeWith(null);
  if (written.ok && written.value === "needs_versions") {
    const algorithm = write.algorithm ?? NEW_KEY.algorithm;
    const [signing, next] = await Promise.all([newKeyPair(keys, algorithm), newKeyPair(keys, algorithm)]);
    written = await writeWith({ signing, next });
  }
  forgetPublishedKeys();
  return written.ok ? ok(null) : written;
}

/** Rotates a key, whose next version becomes `next`. See `OidcIssuer.rotateKey`. */
export async function rotateSigningKey(
  env: IssuerEnv,
  name: string,
  next: SealedKeyPair,
  verificationTtl: Seconds | null,
): Promise<Result<null>> {
  const now = currentTime();
  const rotated = await changedOnce(env, async (attempt): Promise<Result<null>> => {
    const issuer = oidcIssuerOf(env);
    // An object of 1.0.0-rc.1 that rotated twice to one version would have none that signs.
    const isRotated = attempt?.again && (await issuer.published(null))?.keys.some(({ kid }) => kid === next.kid);
    return isRotated ? ok(null) : issuer.rotateKey(name, next, verificationTtl, now, attempt);
  });
  forgetPublishedKeys();
  return rotated;
}

/** Creates the key `name` if it is the default key and does not exist. */
export async function ensureDefaultKey(env: IssuerEnv, keys: Keys, name: string | undefined): Promise<Result<null>> {
  if (name !== DEFAULT_KEY || (await oidcIssuerOf(env).readKey(DEFAULT_KEY))) return ok(null);
  return writeSigningKey(env, keys, DEFAULT_KEY, { allowedClientIds: ["*"] }, { create: true, update: true });
}

/** Path of the issuer, for every host name of this service. */
const ISSUER_PATH = "/v1/identity/oidc";

/** The `iss` of tokens for entities: of the configured issuer, or else of the URL that the client called. */
export function issuerUrl(configured: string, baseUrl: string): string {
  return `${configured || new URL(baseUrl).origin}${ISSUER_PATH}`;
}

/**
 * The `iss` of tokens for auth mounts. It is a separate issuer: a client that may get a token of a role must not be
 * able to impersonate a mount.
 */
export function pluginIssuerUrl(configured: string): string {
  return `${configured}${ISSUER_PATH}/plugins`;
}

interface TokenContent {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  readonly ttl: Seconds;
  /** Further claims. They can't replace the claims above. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signs a token. @throws when the signing key was tampered with. */
export async function signToken(keys: Keys, signer: TokenSigner, content: TokenContent, now: Ms): Promise<string> {
  const seconds = Math.floor(now / 1000);
  // The only namespace, as the reference writes it into claims.
  return new SignJWT({ ...content.claims, namespace: "root" })
    .setProtectedHeader({ alg: signer.key.algorithm, kid: signer.signing.kid, typ: "JWT" })
    .setIssuer(content.issuer)
    .setSubject(content.subject)
    .setAudience(content.audience)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + content.ttl)
    .sign(await openSigningKey(keys, signer.signing));
}

/**
 * Signs a token with which an auth mount proves its identity to a cloud. The subject is `plugin-identity:root:auth:`
 * and the accessor of the mount, as in Vault's workload identity federation.
 */
export async function signMountToken(
  env: IssuerEnv,
  keys: Keys,
  token: Pick<TokenContent, "audience" | "ttl"> & { readonly mountAccessor: string; readonly key: string },
): Promise<Result<string>> {
  const made = await ensureDefaultKey(env, keys, token.key);
  if (!made.ok) return made;
  const signer = await oidcIssuerOf(env).signerOfKey(token.key);
  if (!signer) return refuse("the signing key of identity_token_key does not exist");
  if (signer.issuer === "") return refuse("identity tokens need an issuer: write it to identity/oidc/config");
  const content = {
    issuer: pluginIssuerUrl(signer.issuer),
    subject: `plugin-identity:root:auth:${token.mountAccessor}`,
    audience: token.audience,
    ttl: Math.min(token.ttl, signer.key.verificationTtl),
    claims: {},
  };
  return ok(await signToken(keys, signer, content, currentTime()));
}

/**
 * Verifies a token of this issuer for the audience `clientId` ("" for any). Returns its claims, or why it is invalid,
 * in the reference's words (identity/oidc/introspect).
 */
export async function verifyToken(
  known: KnownIssuer,
  token: string,
  issuer: string,
  clientId: string,
  now: Ms,
): Promise<Result<JWTPayload, string>> {
  try {
    const verified = await jwtVerify(token, createLocalJWKSet({ keys: [...known.jwks.keys] }), {
      issuer,
      ...(clientId !== "" && { audience: clientId }),
      algorithms: [...SIGNING_ALGORITHMS],
      requiredClaims: ["exp", "iat", "sub"],
      currentDate: new Date(now),
    });
    return ok(verified.payload);
  } catch (error) {
    if (error instanceof errors.JWTExpired) return err("error validating claims: token is expired (exp)");
    if (error instanceof errors.JWTClaimValidationFailed) return err(`error validating claims: invalid ${error.claim}`);
    if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) {
      return err("unable to validate the token signature");
    }
    if (error instanceof errors.JOSEError) return err("error parsing token");
    throw error;
  }
}
