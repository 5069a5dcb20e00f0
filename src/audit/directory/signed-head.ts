import { CompactSign } from "jose";
import { formatRfc3339, type Ms } from "../../base/clock.ts";
import { DEFAULT_KEY } from "../../issuer/key-and-role-config.ts";
import { openSigningKey } from "../../issuer/key-pair.ts";
import { oidcIssuerOf } from "../../issuer/oidc-issuer.ts";
import { ensureDefaultKey } from "../../issuer/published-keys.ts";
import type { Installation } from "../../system/installation.ts";
import type { Head } from "../chain.ts";
import type { AuditEnv } from "../env.ts";

/** Type of the signed text. The text has none of the claims of a token, so no verifier accepts it as a token. */
const TYPE = "grove-audit-head";

/** The chain of an object. */
interface SignedObject extends Head {
  readonly name: string;
  readonly begins: string;
  readonly state: string;
}

/**
 * Signs the heads of all chains with the issuer's default key, as a compact JWS. An attacker who can write the storage
 * can't sign other heads. Anyone who has kept signed heads can detect a later change of the records before them.
 *
 * @throws when the issuer does not answer.
 */
export async function signHeads(
  env: AuditEnv,
  { keys, clusterId }: Installation,
  objects: readonly SignedObject[],
  now: Ms,
): Promise<string> {
  const made = await ensureDefaultKey(env, keys, DEFAULT_KEY);
  const signer = made.ok ? await oidcIssuerOf(env).signerOfKey(DEFAULT_KEY) : null;
  if (!signer) throw new Error("the issuer has no default key");
  const heads = objects.map(({ name, begins, seq, digest, state }) => ({
    object: name,
    begins,
    seq,
    digest,
    ...(state === "dropped" && { dropped: true }),
  }));
  const text = JSON.stringify({ type: TYPE, cluster_id: clusterId, time: formatRfc3339(now), heads });
  return new CompactSign(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: signer.key.algorithm, kid: signer.signing.kid, typ: TYPE })
    .sign(await openSigningKey(keys, signer.signing));
}
