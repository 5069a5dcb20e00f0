import { mayInitialize } from "../api/sys/status/init.ts";
import { clientNetwork } from "../base/client-network.ts";
import { currentTime } from "../base/clock.ts";
import { MAX_ADDRESS_LENGTH } from "../base/limits.ts";
import type { Failure, Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation } from "../policy/acl.ts";
import { AddressWindows, type Counted } from "../quota/address-windows.ts";
import { DEFAULT_QUOTA_CONFIG, INIT_LIMIT, LOGIN_LIMIT, type RateLimit } from "../quota/quota.ts";
import type { Installation } from "../system/installation.ts";
import { text } from "../wire/fields.ts";
import { plainUpdateAt } from "./routes.ts";

/** The properties of a request that decide which limits count it. */
export interface CountedRequest {
  readonly operation: Operation | "unknown";
  /** Decoded, without the base path. */
  readonly path: string;
  readonly clientAddress: string | null;
  readonly token: () => string;
}

/** What the quotas say about a request. */
export interface Admission {
  /** Why it is refused, or null. */
  readonly refusal: Failure | null;
  /** True when the role that its body names decides: then nothing was counted yet. */
  readonly byRole: boolean;
  /** For its answer, whatever that is. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Of a request that nothing counts. */
export const ADMITTED: Admission = { refusal: null, byRole: false, headers: {} };
const UNDECIDED: Admission = { ...ADMITTED, byRole: true };

/** Clients of all limits together that an isolate remembers at most: some 5 MB. */
const MAX_CLIENTS = 2 ** 15;
/** The role in the body of a login, as every method reads it. */
const ROLE = text();
/** Endpoints that generate a root token, older spelling and newer. */
const GENERATE_ROOT = /^sys\/generate-root(?:-token)?\//;
/** Updates that the init token alone protects. */
const INITIALIZES: ReadonlySet<string> = new Set(["sys/init", "sys/restore/begin", "sys/restore/finish"]);
/** What else the init token protects: a restore calls it once for each part of a backup. */
const STEPS_OF_RESTORE: ReadonlySet<string> = new Set([
  "sys/restore/part",
  "sys/restore/stored",
  "sys/restore/stored/file",
]);

/** The requests that this isolate has counted. They outlive the copy of the quotas: a changed policy gives no client a new start. */
const windows = new AddressWindows(MAX_CLIENTS);

/** A limit with what its requests are counted under. */
interface Applied {
  readonly key: string;
  readonly limit: RateLimit;
  /** True for the limits that hold where there is no quota. */
  readonly builtIn: boolean;
}

const INIT_TOKEN: Applied = { key: "init", limit: INIT_LIMIT, builtIn: true };

/**
 * Counts a request of which only the head is read.
 *
 * @returns `byRole` for a login whose role decides; `admitByRole` counts it.
 */
export async function admit(env: Env, loaded: Result<Installation>, head: CountedRequest): Promise<Admission> {
  const installation = loaded.ok ? loaded.value : null;
  const guess = await countGuess(env, installation, head);
  if (guess.refusal || !installation) return guess;
  const place = placeOf(installation, head);
  if (place.isLogin && installation.quotas.hasRoles(place.mountPath)) return UNDECIDED;
  return count(env, installation, head, appliedTo(place, ""));
}

/** Counts a login when its body was read, by the role that the login reads there: 7 is the role "7". What can't be read is no role. */
export async function admitByRole(
  env: Env,
  loaded: Result<Installation>,
  head: CountedRequest,
  role: unknown,
): Promise<Admission> {
  if (!loaded.ok) return ADMITTED;
  const place = placeOf(loaded.value, head);
  const read = ROLE.read(role);
  return count(env, loaded.value, head, appliedTo(place, read.ok ? read.value : ""));
}

interface Place {
  readonly installation: Installation;
  /** Of the mount that serves the path, with a slash at the end; "" for none. */
  readonly mountPath: string;
  readonly suffix: string;
  readonly isLogin: boolean;
}

function placeOf(installation: Installation, head: CountedRequest): Place {
  const { path, operation } = head;
  const below = path.startsWith("auth/") ? path.slice("auth/".length) : null;
  const mount = below === null ? undefined : installation.mountServing(below);
  const mountPath = below === null ? firstSegment(path) : mount ? `auth/${mount.path}` : "";
  const sent = path.slice(mountPath.length);
  // No login has a parameter in its path, nor has what counts as one.
  const updateAt = (at: string) => (mount && operation === "update" ? plainUpdateAt(mount.type, at) : undefined);
  const route = updateAt(sent);
  const suffix = (route?.access === "token" && route.countsAs) || sent;
  const isLogin = updateAt(suffix)?.access === "login";
  return { installation, mountPath, suffix, isLogin };
}

function firstSegment(path: string): string {
  return `${path.split("/", 1)[0]}/`;
}

/** The limit of a request: a quota, or the one of logins that holds without any; null when nothing limits it. */
function appliedTo({ installation, mountPath, suffix, isLogin }: Place, role: string): Applied | null {
  const { quotas } = installation;
  const quota = quotas.isEmpty ? null : quotas.find(mountPath, suffix, role);
  if (quota) return { key: String(quota.revision), limit: quota, builtIn: false };
  return isLogin ? { key: "login", limit: LOGIN_LIMIT, builtIn: true } : null;
}

/** Counts a request that the init token alone protects. No quota allows a client many tries. */
async function countGuess(env: Env, installation: Installation | null, head: CountedRequest): Promise<Admission> {
  const { path, operation } = head;
  const isGuess = (INITIALIZES.has(path) && operation === "update") || GENERATE_ROOT.test(path);
  if (isGuess) return countUnder(INIT_TOKEN, env, installation, head);
  if (!STEPS_OF_RESTORE.has(path)) return ADMITTED;
  // A right token costs nothing, but is refused like a wrong one once the client has used up its tries.
  return countUnder(INIT_TOKEN, env, installation, head, mayInitialize(env, head.token()) ? 0 : 1);
}

async function count(
  env: Env,
  installation: Installation,
  head: CountedRequest,
  applied: Applied | null,
): Promise<Admission> {
  if (!applied || installation.quotas.isExempt(head.path)) return ADMITTED;
  return countUnder(applied, env, installation, head);
}

async function countUnder(
  applied: Applied,
  env: Env,
  installation: Installation | null,
  head: CountedRequest,
  weight: 0 | 1 = 1,
): Promise<Admission> {
  const { limit, builtIn } = applied;
  // Clients without an address are one client for a quota. The built-in limits leave them alone.
  if (head.clientAddress === null && builtIn) return ADMITTED;
  const client = clientNetwork((head.clientAddress ?? "").slice(0, MAX_ADDRESS_LENGTH));
  const key = `${applied.key} ${client}`;
  const counted = windows.count(key, limit, currentTime(), weight);
  const config = installation?.quotas.config ?? DEFAULT_QUOTA_CONFIG;
  const headers = config.responseHeaders ? headersOf(counted) : {};
  const refuse = (first: boolean): Admission => ({
    refusal: {
      code: "rate_limited",
      path: head.path,
      retryAfterSeconds: secondsUntilReset(counted),
      onRecord: first || config.auditLogging,
    },
    byRole: false,
    headers,
  });
  if (!counted.allowed) return refuse(counted.first);
  if (builtIn && weight > 0 && (await isRefusedByShield(env, client))) return refuse(windows.refuse(key));
  return { refusal: null, byRole: false, headers };
}

/** The network's own limit, where the deployment has bound one: it counts for all isolates of a place. */
async function isRefusedByShield({ LOGIN_RATE_LIMIT: shield }: Env, client: string): Promise<boolean> {
  return shield !== undefined && !(await shield.limit({ key: client })).success;
}

/** Names as the reference writes them. */
function headersOf(counted: Counted): Record<string, string> {
  return {
    "X-Ratelimit-Limit": String(counted.limit),
    "X-Ratelimit-Remaining": String(counted.remaining),
    "X-Ratelimit-Reset": String(secondsUntilReset(counted)),
  };
}

/** Rounded up, so that a client that waits so long is not too early. */
function secondsUntilReset({ resetMs }: Counted): number {
  return Math.max(1, Math.ceil(resetMs / 1000));
}
