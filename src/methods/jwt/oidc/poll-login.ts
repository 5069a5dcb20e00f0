import type { VerifiedClient } from "../../../auth/login-attempt.ts";
import { currentTime, type Ms } from "../../../base/clock.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { clientByClaims } from "../claim-checks.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import { boundAddress, EXPIRED, loginOf } from "./callback.ts";
import { changeLogin, type DeviceLogin, type DirectLogin, type OpenedLogin } from "./pending-login-state.ts";
import { browserRole, conditionsOf, knownProvider, LOGIN_FAILED, sameConfig } from "./provider-and-role.ts";
import { exchangeGrant, verifyTokens } from "./verify-tokens.ts";

/** Minimum part of the poll interval that a client must wait: its clock may run faster than ours. */
const LEAST_OF_INTERVAL = 0.8;

const waiting = (code: "authorization_pending" | "slow_down") => err({ code: "pending", message: code } as const);

/** Makes the checks of a login whose client asks for the result. A login ends with its first result. */
export async function verifyPolled(
  attempt: OidcAttempt,
  state: string,
  clientNonce: string,
): Promise<Result<VerifiedClient>> {
  const now = currentTime();
  const login = await loginOf(attempt, "find", { state, clientNonce }, now);
  if (!login.ok) return login;
  const { pending } = login.value;
  if (pending.kind === "device") return askProvider(attempt, { ...login.value, pending }, now);
  if (pending.kind === "direct") return takeResult(attempt, { ...login.value, pending }, now);
  return attempt.checks.record("oidc_state", {}, refuse(EXPIRED));
}

async function askProvider(
  attempt: OidcAttempt,
  login: OpenedLogin<DeviceLogin>,
  now: Ms,
): Promise<Result<VerifiedClient>> {
  const { pending } = login;
  if (now < pending.nextPollAt) return waiting("slow_down");
  const nextPollAt = now + pending.interval * 1000 * LEAST_OF_INTERVAL;
  // Of two questions at the same moment one reaches the provider.
  if (!(await changeLogin(attempt, login, { ...pending, nextPollAt }, now))) return waiting("slow_down");
  const known = await knownProvider(attempt, login.config, pending.revision);
  if (!known.ok) return known;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  const boundCidrs = boundAddress(attempt, role.value.token);
  if (!boundCidrs.ok) return boundCidrs;
  const grant = {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: pending.deviceCode,
    client_id: known.value.client.id,
    ...(pending.verifier !== undefined && { code_verifier: pending.verifier }),
  };
  const tokens = await exchangeGrant(attempt, known.value, grant);
  if (!tokens.ok && tokens.error.code !== "invalid_request") return tokens;
  const taken = await loginOf(attempt, "take", login.key, now);
  if (!taken.ok) return taken;
  if (!tokens.ok) return tokens;
  const admitted = await attempt.admitRole(login.roleName);
  if (!admitted.ok) return admitted;
  const expected = { role: role.value, nonce: null };
  const holder = await verifyTokens(attempt, known.value, tokens.value, expected, now);
  return holder.ok
    ? ok(clientByClaims(login.roleName, role.value.token, boundCidrs.value, holder.value.identity))
    : holder;
}

/**
 * Takes the result of a login whose answer came to this server. The token has the settings of the role as it is now. If
 * the conditions of the role have changed since the person confirmed, there is no token: the claims that they would be
 * compared with are not stored.
 */
async function takeResult(
  attempt: OidcAttempt,
  login: OpenedLogin<DirectLogin>,
  now: Ms,
): Promise<Result<VerifiedClient>> {
  const { progress, revision } = login.pending;
  const config = attempt.checks.record("configuration", {}, sameConfig(login.config, revision));
  if (!config.ok) return config;
  const role = browserRole(attempt, login);
  if (!role.ok) return role;
  if (typeof progress === "string") return waiting("authorization_pending");
  if ("holder" in progress && progress.holder.subject !== null) attempt.notes.principal = progress.holder.subject;
  if ("holder" in progress && progress.conditions !== conditionsOf(role.value)) {
    const compared = { actual: login.roleName };
    return attempt.checks.record("role", compared, refuse(`${LOGIN_FAILED} The role has changed: begin again.`));
  }
  const boundCidrs = boundAddress(attempt, role.value.token);
  if (!boundCidrs.ok) return boundCidrs;
  const taken = await loginOf(attempt, "take", login.key, now);
  if (!taken.ok) return taken;
  if ("refusal" in progress) return refuse(progress.refusal);
  const admitted = await attempt.admitRole(login.roleName);
  if (!admitted.ok) return admitted;
  return ok(clientByClaims(login.roleName, role.value.token, boundCidrs.value, progress.holder.identity));
}
