import { currentTime } from "../base/clock.ts";
import { ok, type Result, refuse } from "../base/result.ts";
import type { Keys } from "../crypto/key-ring.ts";
import type { IssuerEnv } from "./env.ts";
import { newKeyPair } from "./key-pair.ts";
import { DEFAULT_KEY, type KeyWrite } from "./model.ts";
import { issuerOf } from "./oidc-issuer.ts";
import { forgetPublishedKeys } from "./published-keys.ts";
import { NEW_KEY } from "./rules.ts";
import { pluginIssuerUrl, signToken } from "./tokens.ts";

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

/** The content of a token for an auth mount. */
export interface MountToken {
  readonly mountAccessor: string;
  readonly audience: string;
  /** Seconds. */
  readonly ttl: number;
  /** Name of the signing key. */
  readonly key: string;
}

/**
 * Signs a token with which an auth mount proves its identity to a cloud. The subject is `plugin-identity:root:auth:`
 * and the accessor of the mount, as in Vault's workload identity federation.
 */
export async function signMountToken(env: IssuerEnv, keys: Keys, token: MountToken): Promise<Result<string>> {
  if (token.key === DEFAULT_KEY) {
    const made = await ensureDefaultKey(env, keys);
    if (!made.ok) return made;
  }
  const signer = await issuerOf(env).signerOfKey(token.key);
  if (!signer) return refuse("the signing key of identity_token_key does not exist");
  if (signer.issuer === "") {
    return refuse("identity tokens need an issuer: write it to identity/oidc/config");
  }
  const content = {
    issuer: pluginIssuerUrl(signer.issuer),
    subject: `plugin-identity:root:auth:${token.mountAccessor}`,
    audience: token.audience,
    ttl: Math.min(token.ttl, signer.key.verificationTtl),
    claims: {},
  };
  return ok(await signToken(keys, signer, content, currentTime()));
}
