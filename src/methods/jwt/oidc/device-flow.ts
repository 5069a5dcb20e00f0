import type { Seconds } from "../../../base/clock.ts";
import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { urlProblem } from "../../service-url.ts";
import { jsonOf } from "../fetch-json.ts";
import { askAsClient, type ExchangeError, refusalIn } from "./code-exchange.ts";
import { challengeOf, newSecret } from "./pending-login-state.ts";
import type { KnownProvider } from "./provider-and-role.ts";

/** What the provider answers to the beginning of a login on any device (RFC 8628, section 3.2). */
interface DeviceAnswer {
  /** A secret. */
  readonly deviceCode: string;
  /** Where the person consents. */
  readonly url: string;
  /** What the person types there; "" when the address has it. */
  readonly userCode: string;
  readonly expiresIn: Seconds;
  readonly interval: Seconds;
}

/** A login that the provider has begun. */
interface BegunOnDevice extends DeviceAnswer {
  /** A secret that the provider wants to see with the code (PKCE); absent: it asked for none. */
  readonly verifier?: string;
}

const MAX_DEVICE_CODE = 4096;
/** What a person can type. */
const USER_CODE = /^[\x20-\x7e]{1,64}$/;
const DEFAULT_EXPIRY: Seconds = 600;
const MAX_EXPIRY: Seconds = 1800;
const DEFAULT_INTERVAL: Seconds = 5;
const MAX_INTERVAL: Seconds = 60;

/**
 * Asks the provider to begin a login on any device. RFC 8628 has no PKCE, and some providers refuse parameters that
 * they do not know. Keycloak wants PKCE from a client that requires it, so a refused request is sent again with it.
 */
export async function beginAtProvider(
  known: KnownProvider,
  scope: string,
): Promise<Result<BegunOnDevice, ExchangeError>> {
  const plain = await askToBegin(known, scope, {});
  if (plain.ok || plain.error.kind !== "refused" || plain.error.code !== "invalid_request") return plain;
  const verifier = newSecret();
  const challenge = { code_challenge: await challengeOf(verifier), code_challenge_method: "S256" };
  const begun = await askToBegin(known, scope, challenge);
  return begun.ok ? ok({ ...begun.value, verifier }) : begun;
}

async function askToBegin(
  { provider, client, listed }: KnownProvider,
  scope: string,
  challenge: Readonly<Record<string, string>>,
): Promise<Result<DeviceAnswer, ExchangeError>> {
  const form = { client_id: client.id, scope, ...challenge };
  const asked = await askAsClient(provider, client, provider.deviceAuthorization, form, listed);
  const code = asked.ok ? refusalIn(asked.value) : null;
  if (code !== null) return err({ kind: "refused", code });
  const body = asked.ok ? jsonOf(asked.value) : asked;
  const device = body.ok ? readDeviceAnswer(body.value, listed) : body;
  return device.ok ? device : err({ kind: "no answer", message: device.error });
}

/** Reads the answer of the provider. The client opens its address, so it must be one that may be called. */
function readDeviceAnswer(
  answer: Readonly<Record<string, unknown>>,
  listed: PrivateHosts,
): Result<DeviceAnswer, string> {
  const { device_code: deviceCode, user_code: userCode, expires_in: expiresIn, interval } = answer;
  if (typeof deviceCode !== "string" || deviceCode === "" || deviceCode.length > MAX_DEVICE_CODE) {
    return err("its answer has no device_code");
  }
  // Older providers have other names.
  const complete = answer.verification_uri_complete ?? answer.verification_url_complete;
  const url = complete ?? answer.verification_uri ?? answer.verification_url;
  if (typeof url !== "string" || urlProblem(url, listed) !== null) return err("its answer has no verification_uri");
  if (complete === undefined && (typeof userCode !== "string" || !USER_CODE.test(userCode))) {
    return err("its answer has no user_code");
  }
  return ok({
    deviceCode,
    url,
    userCode: complete === undefined && typeof userCode === "string" ? userCode : "",
    expiresIn: secondsWithin(expiresIn, DEFAULT_EXPIRY, MAX_EXPIRY),
    interval: secondsWithin(interval, DEFAULT_INTERVAL, MAX_INTERVAL),
  });
}

function secondsWithin(value: unknown, otherwise: Seconds, most: Seconds): Seconds {
  return typeof value === "number" && value >= 1 ? Math.min(value, most) : otherwise;
}
