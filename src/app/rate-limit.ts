import { mayInitialize } from "../api/sys/init.ts";
import { clientNetworks } from "../base/client-network.ts";
import { currentTime } from "../base/clock.ts";
import { err, ok, type Result } from "../base/result.ts";
import { ClientWindows } from "../quota/client-windows.ts";
import { DEFAULT_QUOTA_CONFIG, INIT_LIMIT, LOGIN_LIMIT, type RateLimit, type RateLimitQuota } from "../quota/quota.ts";
import type { Installation } from "../system/installation.ts";
import { type GroveRequest, operationOf, readTokenHeader } from "../wire/request.ts";
import type { Admission, AppContext } from "./context.ts";
import { TABLES } from "./routes.ts";

const ADMITTED: Admission = { refusal: null, byRole: false, headers: {} };

/** Maximum number of clients of all limits together in the memory of an isolate: about 5 MB. */
const MAX_CLIENTS = 2 ** 15;
/** Endpoints that generate a root token, in the older and the newer spelling. */
const GENERATE_ROOT = /^sys\/generate-root(?:-token)?\//;
/** Updates that only the init token protects. */
const INITIALIZES: ReadonlySet<string> = new Set([
  "sys/init",
  "sys/init/begin",
  "sys/restore/begin",
  "sys/restore/finish",
]);
/** Further paths that only the init token protects. A restore calls them once for each part of a backup. */
const STEPS_OF_RESTORE: ReadonlySet<string> = new Set([
  "sys/restore/part",
  "sys/restore/stored",
  "sys/restore/stored/file",
]);

/** Request counts of this isolate. They are not part of the snapshot, so that a newer snapshot does not reset them. */
const windows = new ClientWindows(MAX_CLIENTS);

interface Applied {
  readonly key: string;
  readonly limit: RateLimit;
  /** True for the limits that apply without a quota. */
  readonly builtIn: boolean;
}

const INIT_TOKEN: Applied = { key: "init", limit: INIT_LIMIT, builtIn: true };

/** Counts a request of which only the head was read. `admitByRole` counts a login whose limit depends on its role. */
export async function admit(c: AppContext): Promise<Admission> {
  const { path } = c.get("head");
  if (!path.ok) return ADMITTED;
  const guess = await countGuess(c, path.value);
  const loaded = c.get("installation");
  if (guess.refusal || !loaded.ok) return guess;
  const counted = countedPath(c, loaded.value, path.value);
  if (counted.isLogin && loaded.value.quotas.hasRoles(counted.mountPath)) return { ...ADMITTED, byRole: true };
  return count(c, loaded.value, path.value, counted, "");
}

/** Counts a login after its fields were read, under the role that its method finds. `data`: null when unreadable. */
export async function admitByRole(c: AppContext, data: GroveRequest["data"] | null): Promise<Admission> {
  const { path } = c.get("head");
  const loaded = c.get("installation");
  if (!path.ok || !loaded.ok) return ADMITTED;
  const mount = loaded.value.mountServing(path.value);
  const method = mount && c.env.kinds.methods.get(mount.type);
  const counted = countedPath(c, loaded.value, path.value);
  const asks = mount && data && !counted.roleFromStep;
  const role = asks && (await method?.roleOfLogin(c.env, mount, data));
  return count(c, loaded.value, path.value, counted, role || "");
}

/**
 * Counts a login under the quota of a role that is known only after its proof was checked. Before the check it was
 * counted as a login without a role, since a check costs more than a count. A refusal gets an audit line, because the
 * request already has its first line.
 */
export async function admitProvenRole(c: AppContext, role: string): Promise<Result<null>> {
  const { path } = c.get("head");
  const loaded = c.get("installation");
  if (!path.ok || !loaded.ok) return ok(null);
  const { quotas } = loaded.value;
  const quota = quotas.ofRole(countedPath(c, loaded.value, path.value).mountPath, role);
  if (!quota || quotas.isExempt(path.value)) return ok(null);
  const admission = await countUnder(c, path.value, quotaLimit(quota));
  c.set("admission", admission);
  return admission.refusal ? err({ ...admission.refusal, onRecord: true }) : ok(null);
}

/** The properties of a request that decide which quota counts it. */
interface CountedPath {
  /** Path of the mount that serves the request, with a slash at the end; "" for none. */
  readonly mountPath: string;
  readonly suffix: string;
  readonly isLogin: boolean;
  /** True for a login whose role was given in an earlier step. It is counted when the role is known. */
  readonly roleFromStep: boolean;
}

function countedPath(c: AppContext, installation: Installation, path: string): CountedPath {
  const mount = installation.mountServing(path);
  const first = path.startsWith("auth/") ? "" : `${path.split("/", 1)[0]}/`;
  const mountPath = mount ? `auth/${mount.path}` : first;
  const sent = path.slice(mountPath.length);
  const operation = operationOf(c.get("head"));
  const routeAt = (at: string) =>
    mount && operation !== "unknown" ? TABLES.byMountType.get(mount.type)?.find(operation, at)?.route : undefined;
  const route = routeAt(sent);
  const countsAs = route?.access === "token" ? route.countsAs : undefined;
  const counted = countsAs === undefined ? route : routeAt(countsAs);
  const login = counted?.access === "login" ? counted : null;
  return {
    mountPath,
    suffix: countsAs ?? sent,
    isLogin: login !== null,
    roleFromStep: login?.roleFromStep ?? false,
  };
}

/** Counts a request under a quota, or a login without a quota under the built-in limit. */
async function count(c: AppContext, { quotas }: Installation, path: string, counted: CountedPath, role: string) {
  const { mountPath, suffix, isLogin } = counted;
  if (quotas.isExempt(path)) return ADMITTED;
  const quota = quotas.isEmpty ? null : quotas.find(mountPath, suffix, role);
  if (quota) return countUnder(c, path, quotaLimit(quota));
  return isLogin ? countUnder(c, path, { key: "login", limit: LOGIN_LIMIT, builtIn: true }) : ADMITTED;
}

function quotaLimit(quota: RateLimitQuota): Applied {
  return { key: String(quota.revision), limit: quota, builtIn: false };
}

/** Counts a request that only the init token protects. No quota can allow a client more attempts. */
async function countGuess(c: AppContext, path: string): Promise<Admission> {
  const isUpdate = operationOf(c.get("head")) === "update";
  if ((INITIALIZES.has(path) && isUpdate) || GENERATE_ROOT.test(path)) return countUnder(c, path, INIT_TOKEN);
  if (!STEPS_OF_RESTORE.has(path)) return ADMITTED;
  // A correct token is not counted, but it is refused like a wrong one after too many attempts.
  return countUnder(c, path, INIT_TOKEN, mayInitialize(c.env, readTokenHeader(c.req.raw.headers)) ? 0 : 1);
}

async function countUnder(c: AppContext, path: string, applied: Applied, weight: 0 | 1 = 1): Promise<Admission> {
  const { limit, builtIn } = applied;
  const { clientAddress } = c.get("head");
  // A quota counts all clients without an address as one client. The built-in limits do not apply to them.
  if (clientAddress === null && builtIn) return ADMITTED;
  const networks = clientNetworks(clientAddress ?? "");
  const counted = windows.countClient(applied.key, networks, limit, currentTime(), weight);
  const loaded = c.get("installation");
  const config = loaded.ok ? loaded.value.quotas.config : DEFAULT_QUOTA_CONFIG;
  // Rounded up, so that a client that waits this long is not too early.
  const retryAfterSeconds = Math.max(1, Math.ceil(counted.resetMs / 1000));
  // Names as the reference writes them.
  const headers: Record<string, string> = config.responseHeaders
    ? {
        "X-Ratelimit-Limit": String(counted.limit),
        "X-Ratelimit-Remaining": String(counted.remaining),
        "X-Ratelimit-Reset": String(retryAfterSeconds),
      }
    : {};
  const refuse = (first: boolean): Admission => {
    const onRecord = first || config.auditLogging;
    return { refusal: { code: "rate_limited", path, retryAfterSeconds, onRecord }, byRole: false, headers };
  };
  if (!counted.allowed) return refuse(counted.first);
  // The limit of Cloudflare's network, if the deployment has bound one. It counts for all isolates of a location, and has
  // one rate for all keys, so the widest network is the client.
  const shield = builtIn && weight > 0 ? c.env.LOGIN_RATE_LIMIT : undefined;
  const client = networks.at(-1) ?? "";
  if (shield && !(await shield.limit({ key: client })).success)
    return refuse(windows.refuse(`${applied.key} ${client}`));
  return { refusal: null, byRole: false, headers };
}
