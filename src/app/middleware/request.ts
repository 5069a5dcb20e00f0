import { mayInitialize } from "../../api/sys/status/init.ts";
import { currentTime } from "../../base/clock.ts";
import { MAX_RESTORED_BYTES } from "../../base/limits.ts";
import type { Env } from "../../env.ts";
import { loadInstallation, loadRestoring } from "../../system/installation.ts";
import { readToken } from "../../wire/request.ts";
import { refuse } from "../answer.ts";
import type { AppContext, Middleware } from "../context.ts";
import { limitRole, withLimits } from "./limits.ts";
import { dropRefusedPart, isBackupPart } from "./refused-part.ts";

/** A client that takes so long (ms) to send its body does not keep the policies of when it began. */
const SLOW_BODY_MS = 1_000;

/**
 * The settings that a request is read with. Only a deployment that is being restored takes larger bodies, and only from a client that may
 * restore it.
 */
async function settingsFor(c: AppContext): Promise<Env> {
  if (!isBackupPart(c) || c.get("installation").ok) return c.env;
  if (!mayInitialize(c.env, readToken(c.req.raw.headers))) return c.env;
  if (!(await loadRestoring(c.env)).ok) return c.env;
  return { ...c.env, MAX_BODY_BYTES: String(MAX_RESTORED_BYTES) };
}

/**
 * Reads the request in its dialect: the token, the fields of body or query, and what else its head says. A login with a limit for
 * its role is counted here.
 */
export const request: Middleware = async (c, next) => {
  const began = currentTime();
  const read = await c.get("dialect").readRequest(c.req.raw, c.get("head"), await settingsFor(c), c.get("requestId"));
  const { byRole } = c.get("admission");
  if (!read.ok) await dropRefusedPart(c);
  if (!read.ok) return (byRole ? await limitRole(c, null) : null) ?? refuse(c, read.error);
  if (currentTime() - began >= SLOW_BODY_MS) c.set("installation", await loadInstallation(c.env));
  c.set("request", read.value);
  const { dialect, operation, clientAddress, token, data, notes } = read.value;
  c.get("record").learn({ operation, clientAddress, token, data, notes });
  const refused = byRole ? await limitRole(c, read.value.data.role) : null;
  if (refused) return refused;
  await next();
  // Clients of the interface of teams slow themselves down for good once an answer names a limit.
  if (dialect !== "json-api") withLimits(c.res, c.get("admission"));
};
