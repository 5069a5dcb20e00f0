import type { Ms } from "../base/clock.ts";
import { type FetchFrom, isSuccess, send } from "../base/outbound-http.ts";
import { toHex } from "../crypto/bytes.ts";
import { type Keys, keyedHash } from "../crypto/key-ring.ts";
import { openText } from "../crypto/sealed-data.ts";
import { countEvent } from "../metrics/counters.ts";
import { type LeaseView, leaseIdOf } from "./actions.ts";
import type { LeaseEnv } from "./env.ts";
import {
  endpointHost,
  endpointOrigin,
  endpointSettings,
  readRevocationEndpoint,
  serviceBindingOf,
} from "./revocation-endpoint.ts";

/** Time limit for the answer of a target. */
export const TIMEOUT_MS: Ms = 5_000;
/** Statuses after which a retry can't succeed: the target does not understand the request. */
const HOPELESS = new Set([400, 405, 415, 422, 501]);

/** Header with the value `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<unix seconds>.<body>">`. */
export const SIGNATURE_HEADER = "Grove-Signature";

const encoder = new TextEncoder();

/** A lease to revoke, with its data: sealed for the lease and its target (`leaseDataContext`), or null. */
export type Revocation = Pick<LeaseView, "path" | "tail" | "target" | "issuedAt"> & {
  readonly data: Uint8Array | null;
};

/** Result of an attempt. `hopeless`: a retry can't succeed. */
type Delivery =
  | { readonly delivered: true }
  | { readonly delivered: false; readonly error: string; readonly hopeless: boolean };

/** Context that seals the data of a lease: it can't be moved to another lease, or sent to another target. */
export function leaseDataContext(leaseTail: string, target: string): string {
  return `lease data ${leaseTail} ${target}`;
}

/**
 * Sends one revocation: a signed POST, at most once per call. The lease id is also its idempotency key. Any 2xx status,
 * and 410, mean that the secret is gone. Redirects are not followed, because their host was not checked (SSRF). The
 * body of the answer is not read: it is unchecked input.
 */
export async function sendRevocation(env: LeaseEnv, keys: Keys, revocation: Revocation, now: Ms): Promise<Delivery> {
  const { path } = revocation;
  const leaseId = leaseIdOf(revocation);
  // The settings may have become stricter since the lease was registered.
  const target = readRevocationEndpoint(revocation.target, endpointSettings(env));
  if (!target.ok) return failed(target.error, false);
  const data = await openLeaseData(keys, revocation);
  if (data === undefined) return failed("the data of the lease does not open", true);
  const issueTime = new Date(revocation.issuedAt).toISOString();
  const body = JSON.stringify({ lease_id: leaseId, path, target: target.value, issue_time: issueTime, data });
  const headers = {
    "Content-Type": "application/json",
    "Idempotency-Key": leaseId,
    [SIGNATURE_HEADER]: await signBody(await signingKey(keys, target.value), body, now),
  };
  const { url, fetchFrom } = addressOf(env, target.value);
  // Errors name only the host of the target: its path and query may contain secrets.
  const host = endpointHost(target.value);
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: 0, hosts: "any" } as const;
  const sent = await send({ method: "POST", url, headers, body }, limits, fetchFrom);
  if (!sent.ok) {
    if (sent.error === "timeout") return failed(`the target ${host} did not answer in ${TIMEOUT_MS / 1000} s`, false);
    return failed(`the target ${host} can't be reached`, false);
  }
  const { status } = sent.value;
  if (!isSuccess(status) && status !== 410)
    return failed(`the target ${host} answered ${status}`, HOPELESS.has(status));
  countEvent("lease_revocation", ["success"]);
  return { delivered: true };
}

/** Where to send a request for this target: over the network, or to the service binding that it names. */
function addressOf(env: LeaseEnv, target: string): { readonly url: string; readonly fetchFrom?: FetchFrom } {
  const service = serviceBindingOf(target);
  if (!service) return { url: target };
  const binding: unknown = Reflect.get(env, service.name);
  return {
    url: `https://${service.name.toLowerCase()}.service${service.path}`,
    fetchFrom: async (request) => {
      if (!isFetcher(binding)) throw new Error("there is no service binding of this name");
      return binding.fetch(request);
    },
  };
}

/** True for a service binding. The setting only names it, so its type is known only at run time. */
function isFetcher(binding: unknown): binding is Pick<Fetcher, "fetch"> {
  return typeof binding === "object" && binding !== null && "fetch" in binding && typeof binding.fetch === "function";
}

async function openLeaseData(keys: Keys, { tail, target, data }: Revocation): Promise<unknown> {
  if (!data) return null;
  const plain = await openText(keys, leaseDataContext(tail, target), data);
  return plain === null ? undefined : JSON.parse(plain);
}

function failed(error: string, hopeless: boolean): Delivery {
  countEvent("lease_revocation", ["failed"]);
  return { delivered: false, error, hopeless };
}

/**
 * The 32-byte key that signs for `target`. Each origin has its own, so that no target can impersonate Grove to another.
 */
export function signingKey(keys: Keys, target: string): Promise<Uint8Array<ArrayBuffer>> {
  return keyedHash(keys.identity, encoder.encode(`lease target\0${endpointOrigin(target)}`));
}

/**
 * Returns the value of the signature header for `body`. The receiver compares it in constant time, and refuses times
 * more than a few minutes away, so that a recorded request can't be replayed later.
 */
async function signBody(key: Uint8Array<ArrayBuffer>, body: string, now: Ms): Promise<string> {
  const seconds = Math.floor(now / 1000);
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `t=${seconds},v1=${toHex(await keyedHash(imported, encoder.encode(`${seconds}.${body}`)))}`;
}
