import type { LoginAttempt } from "../../auth/login-attempt.ts";
import type { Ms } from "../../base/clock.ts";
import { privateHosts } from "../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../base/outbound-http.ts";
import { err, ok, type Result, refuse } from "../../base/result.ts";
import { type Claims, type JwtAlgorithm, readJwtHead, verifySignature } from "../jws.ts";
import { shown } from "./claim-checks.ts";
import type { JwtConfig } from "./config.ts";
import { keysFor } from "./key-set-cache.ts";

/** Descriptions of the checks of a signed token, up to its claims. */
export const SIGNATURE_CHECKS = {
  form: "A signed token was sent, by an algorithm that the mount takes.",
  keys: "The keys of the issuer are known.",
  signature: "One of these keys has signed the token.",
} as const;

type Attempt = Pick<LoginAttempt<keyof typeof SIGNATURE_CHECKS>, "env" | "checks">;

/** Returns the claims of a token that a key of the issuer has signed, and the algorithm. */
export async function verifySignedToken(
  { env, checks }: Attempt,
  config: JwtConfig,
  jwt: string,
  now: Ms,
): Promise<Result<{ readonly claims: Claims; readonly algorithm: JwtAlgorithm }>> {
  const read = readJwtHead(jwt, config.algorithms);
  const algorithm = read.ok ? read.value.algorithm : null;
  const head = checks.record("form", { bound: config.algorithms, actual: algorithm }, orInvalid(read));
  if (!head.ok) return head;
  const { kid } = head.value;
  const known = await keysFor(config, kid, privateHosts(env), now);
  const keys = checks.record("keys", {}, known.ok ? known : err(serviceUnavailable(known.error)));
  if (!keys.ok) return keys;
  const claims = await verifySignature(jwt, head.value.algorithm, keys.value);
  // Keys in PEM have no ids.
  const ids = config.publicKeys.length > 0 ? [] : keys.value.flatMap((key) => shown(key.kid) ?? []);
  const verified = checks.record("signature", { bound: ids, actual: shown(kid) }, orInvalid(claims));
  return verified.ok ? ok({ claims: verified.value, algorithm: head.value.algorithm }) : verified;
}

function orInvalid<T>(result: Result<T, string>): Result<T> {
  return result.ok ? result : refuse(`error validating token: ${result.error}`);
}
