import type { JWK } from "jose";
import { isWithin, type Ms } from "../../base/clock.ts";
import { GenerationalCache } from "../../base/generational-cache.ts";
import type { PrivateHosts } from "../../base/outbound-hosts.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { isObject } from "../../wire/fields.ts";
import { isVerificationKey } from "../jws.ts";
import { keysInPem } from "../pem-keys.ts";
import { type JwtConfig, readJwk } from "./config.ts";
import { fetchJson } from "./fetch-json.ts";
import { type IssuerProblem, inStep, problemAt } from "./issuer-problem.ts";
import { fetchProvider } from "./oidc/provider-discovery.ts";

/** Maximum age of used keys, also while the issuer does not answer. A withdrawn key is accepted for this long. */
const KEEP_MS = 600_000;
/** Age after which keys are fetched again. If that fails, the old keys are used until `KEEP_MS`. */
const REFRESH_MS = 300_000;
/** Minimum time between two fetches. Any client can send tokens with unknown key ids: not each may cause a fetch. */
const COOL_DOWN_MS = 30_000;
/** The same after a fetch that failed. */
const FAILED_COOL_DOWN_MS = 2_000;
const MAX_KEYS = 128;
const MAX_KEPT_CHARACTERS = 480 * 1024;

interface Fetched {
  readonly keys: readonly JWK[] | null;
  readonly fetchedAt: Ms;
  /** Start of the last fetch, even if it failed. */
  readonly triedAt: Ms;
  readonly failed: boolean;
}

/** Keys of issuers that this isolate has fetched, by the revision of the configuration. */
const fetched = new GenerationalCache<string, Fetched>(MAX_KEPT_CHARACTERS);

/**
 * Returns the keys that may have signed a token, or a message when they can't be fetched. For an unknown key id (`kid`)
 * they are fetched again, at most once per `COOL_DOWN_MS`.
 */
export async function keysFor(
  config: JwtConfig,
  kid: string | undefined,
  listed: PrivateHosts,
  now: Ms,
): Promise<Result<readonly JWK[], string>> {
  if (config.publicKeys.length > 0) return ok(keysInPem(config.revision, config.publicKeys, kid));
  const known = fetched.get(config.revision) ?? null;
  const keys = known && isWithin(known.fetchedAt, KEEP_MS, now) ? known.keys : null;
  const hasKey = kid === undefined || keys?.some((key) => key.kid === kid);
  if (known && keys && hasKey && isWithin(known.fetchedAt, REFRESH_MS, now)) return ok(keys);
  const coolDownMs = known?.failed ? FAILED_COOL_DOWN_MS : COOL_DOWN_MS;
  if (known && isWithin(known.triedAt, coolDownMs, now))
    return keys ? ok(keys) : err("the keys of the issuer could not be fetched");
  remember(config.revision, { keys: null, fetchedAt: 0, ...known, triedAt: now, failed: false });
  const answer = await fetchKeys(config, listed);
  if (answer.ok) {
    remember(config.revision, { keys: answer.value, fetchedAt: now, triedAt: now, failed: false });
    return answer;
  }
  remember(config.revision, { keys, fetchedAt: known?.fetchedAt ?? 0, triedAt: now, failed: true });
  return keys ? ok(keys) : err(answer.error.text);
}

const STEP = "error fetching the keys of the issuer";

/** Fetches the keys of a configuration. A write of the configuration does this to report mistakes. */
export async function fetchKeys(
  config: JwtConfig,
  listed: PrivateHosts,
): Promise<Result<readonly JWK[], IssuerProblem>> {
  const source =
    config.jwksUrl === "" ? await fetchProvider(config.discoveryUrl, listed) : ok({ keys: config.jwksUrl });
  if (!source.ok) return source;
  const url = source.value.keys;
  const answer = await fetchJson(url, listed);
  if (!answer.ok) return err(inStep(STEP, answer.error));
  const { keys } = answer.value;
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) {
    return err(inStep(STEP, problemAt(url, "its answer is no key set", "no key set")));
  }
  return ok(keys.filter(isObject).map(readJwk).filter(isVerificationKey));
}

function remember(revision: string, entry: Fetched): void {
  fetched.set(revision, entry, JSON.stringify(entry).length);
}
