import type { Ms } from "../../base/clock.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { isObject } from "../../wire/fields.ts";
import type { Claims } from "../jws.ts";

/** A service account of a cluster. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  /** No two service accounts of a cluster ever have the same. */
  readonly uid: string;
}

/** What a token says about itself. Nothing of it counts before the API server has reviewed the token. */
export interface ClaimedAccount extends ServiceAccount {
  /** The secret that stores the token; "" for a token that no secret stores. */
  readonly secretName: string;
  readonly audiences: readonly string[];
}

/** A label of a domain name (RFC 1123), as namespaces are called. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** A domain name, as service accounts are called. */
const NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_UID = 128;
const MAX_AUDIENCES = 64;

/** Returns the service account if its parts have a valid form: they become segments of paths. */
export function serviceAccountOf(namespace: unknown, name: unknown, uid: unknown): ServiceAccount | null {
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string") return null;
  if (!NAMESPACE.test(namespace) || !NAME.test(name) || uid.trim() === "" || uid.length > MAX_UID) return null;
  return { namespace, name, uid };
}

/** Reads the service account that a token names: in the claim of projected tokens, else in claims of stored ones. */
export function claimedAccount(claims: Claims): Result<ClaimedAccount, string> {
  const { "kubernetes.io": projected } = claims;
  const nested = isObject(projected) && isObject(projected.serviceaccount) ? projected.serviceaccount : null;
  const stored = (key: string) => claims[`kubernetes.io/serviceaccount/${key}`];
  const account = nested
    ? serviceAccountOf(isObject(projected) ? projected.namespace : null, nested.name, nested.uid)
    : serviceAccountOf(stored("namespace"), stored("service-account.name"), stored("service-account.uid"));
  if (!account) return err("the token names no service account");
  const audiences = claimedAudiences(claims);
  if (!audiences) return err(WRONG_AUDIENCE);
  const secret = stored("secret.name") ?? "";
  return ok({ ...account, audiences, secretName: typeof secret === "string" && NAME.test(secret) ? secret : "" });
}

export const WRONG_AUDIENCE = "invalid audience (aud) claim";

/** Reads the audiences that a token names, [] for none; null when the claim has a wrong form. */
export function claimedAudiences({ aud = [] }: Claims): readonly string[] | null {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.length > MAX_AUDIENCES) return null;
  return audiences.every((one) => typeof one === "string") ? audiences : null;
}

export const CLOCK_SKEW_MS = 60_000;

/** Returns why a token can't be valid at `now`, or null. Within `CLOCK_SKEW_MS` the clock of the API server decides. */
export function timesProblem({ exp, nbf }: Claims, now: Ms): string | null {
  if (![exp, nbf].every((time) => time === undefined || time === null || Number.isFinite(time))) {
    return "the times (nbf, exp) of the token must be numbers";
  }
  if (typeof exp === "number" && now > exp * 1000 + CLOCK_SKEW_MS)
    return "invalid expiration time (exp) claim: token is expired";
  return typeof nbf === "number" && now < nbf * 1000 - CLOCK_SKEW_MS
    ? "invalid not before (nbf) claim: token not yet valid"
    : null;
}
