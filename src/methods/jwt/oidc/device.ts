import type { Seconds } from "../../../base/clock.ts";
import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { urlProblem } from "../../service-url.ts";

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

const MAX_DEVICE_CODE = 4096;
/** What a person can type. */
const USER_CODE = /^[\x20-\x7e]{1,64}$/;
const DEFAULT_EXPIRY: Seconds = 600;
const MAX_EXPIRY: Seconds = 1800;
const DEFAULT_INTERVAL: Seconds = 5;
const MAX_INTERVAL: Seconds = 60;

/** Reads that answer. The client opens the address, so only one of the provider's that may be called is taken. */
export function readDeviceAnswer(
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
