import { mayInitialize } from "../api/sys/init.ts";
import { openInstallation } from "../auth/open-installation.ts";
import { currentTime } from "../base/clock.ts";
import { MAX_RESTORED_BYTES } from "../base/limits.ts";
import type { Env } from "../env.ts";
import { loadRestoring } from "../system/installation.ts";
import { readTokenHeader } from "../wire/request.ts";
import { isBackupPart } from "./backup-part.ts";
import type { AppContext, Middleware } from "./context.ts";
import { limitRole, withLimits } from "./limit-requests.ts";
import { answerRefusal } from "./respond.ts";

/** A body that takes longer than this to arrive makes the request load the installation again. */
const SLOW_BODY_MS = 1_000;

/** Reads the request in its dialect: token and fields of body or query. Counts a login whose role has a limit. */
export const request: Middleware = async (c, next) => {
  const began = currentTime();
  const dialect = c.get("dialect");
  const read = await dialect.readRequest(c.req.raw, c.get("head"), await settingsFor(c), c.get("requestId"));
  if (!read.ok) return (await limitRole(c, null)) ?? answerRefusal(c, read.error);
  if (currentTime() - began >= SLOW_BODY_MS) {
    c.set("installation", await openInstallation(c.env, read.value.token));
  }
  c.set("request", read.value);
  const { operation, clientAddress, token, data, notes } = read.value;
  c.get("record").learn({ operation, clientAddress, token, data, notes });
  const refused = await limitRole(c, data);
  if (refused) return refused;
  await next();
  if (dialect.namesLimits) withLimits(c.res, c.get("admission"));
};

/** Returns the settings for reading the request. A restore may send larger bodies, if the client may initialize. */
async function settingsFor(c: AppContext): Promise<Env> {
  if (!isBackupPart(c) || c.get("installation").ok) return c.env;
  if (!mayInitialize(c.env, readTokenHeader(c.req.raw.headers))) return c.env;
  if (!(await loadRestoring(c.env)).ok) return c.env;
  return { ...c.env, MAX_BODY_BYTES: String(MAX_RESTORED_BYTES) };
}
