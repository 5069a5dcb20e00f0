import { isLoginPath, LOGIN_PATHS } from "../../../src/base/login-paths.ts";
import { helpAsCalled } from "../../local/command-line.ts";
import { MOUNTS } from "../answer-schemas.ts";
import { isAllowed } from "../capabilities.ts";
import type { GroveClient } from "../client.ts";
import { readCommand, writeFileCommand } from "../curl.ts";

/** The line of a login in an audit log. */
export interface LoginLine {
  readonly time: string;
  readonly path: string;
  readonly status: number;
  readonly error?: string | null | undefined;
  readonly client_address?: string | null | undefined;
  /** Path of the mount, which begins with `auth/`. */
  readonly mount?: string | null | undefined;
  readonly role?: string | null | undefined;
  readonly principal?: string | null | undefined;
  /** The check that refused it. Lines of earlier releases have none. */
  readonly check?: { readonly name: string; readonly description: string } | null | undefined;
}

/** Errors that a polling client gets until the user has consented. */
const WAITING: ReadonlySet<string> = new Set(["authorization_pending", "slow_down"]);

/** True for a login or a step of one, also one that was refused before its role was read. */
export function isLogin({ path, mount, role, principal }: LoginLine): boolean {
  return Boolean(role || principal) || isLoginPath(path, mount || firstMount(path));
}

/** True for a login that was refused. A login that waits for the user's consent has an error status, but is not refused. */
export function wasRefused({ status, error }: LoginLine): boolean {
  return status >= 400 && !WAITING.has(error ?? "");
}

/** The mount in a path, for a line that does not name it. It is right for mounts whose name has no slash. */
function firstMount(path: string): string {
  return `${path.split("/", 2).join("/")}/`;
}

/** The part of a login's path below the mount. */
const BELOW_MOUNT = new RegExp(`(?<=/)(?:${LOGIN_PATHS.join("|")})$`);

/** Display names of the types of auth methods. */
const NAMES: Readonly<Record<string, string>> = {
  approle: "AppRole",
  aws: "AWS",
  cloud: "AWS",
  jwt: "JWT",
  kubernetes: "Kubernetes",
  oidc: "OpenID Connect",
};

/** What the log has in place of the name of a role that the mount does not have. */
const HASHED = /^hmac-sha256:/;

/**
 * A login in words: its method, mount and role, and the check that failed, as far as the token of the command may read
 * that.
 */
export async function loginTexts(client: GroveClient, line: LoginLine): Promise<string[]> {
  const { time, client_address: address, mount, role, principal, check } = line;
  const where = mount ?? line.path.replace(BELOW_MOUNT, "");
  const mayRead = mount && (await isAllowed(client, "sys/auth", ["read"]));
  const methods = mayRead ? await client.get("sys/auth", MOUNTS) : null;
  const type = methods?.ok ? methods.value[where.replace(/^auth\//, "")]?.type : undefined;
  const how = type === undefined ? "" : ` by ${NAMES[type] ?? type}`;
  const forRole = !role ? "" : HASHED.test(role) ? ", for a role that it does not have" : `, for the role ${role}`;
  const who = `a login${how} at ${where}${forRole}${principal ? `, as ${principal}` : ""}${address ? `, from ${address}` : ""}`;
  const texts = [`${time}: ${who}, ${outcomeOf(line)}`];
  if (!wasRefused(line)) return texts;
  return [
    ...texts,
    ...(check ? [`The check that failed: ${check.name} (${check.description})`] : []),
    ...(mount ? [`what was refused there lately, and why: ${readCommand(`${mount}explain/refused`)}`] : []),
    ...(mount && line.path === `${mount}login` ? [`to try it again, its body in login.json: ${tryAgain(mount)}`] : []),
  ];
}

const tryAgain = (mount: string): string => writeFileCommand(`${mount}explain/login`, "login.json");

/** Says why a request was answered 429, and what shows the quotas. */
export const refusedByQuota = (): string =>
  `a quota refused it before its token was read: ${readCommand("sys/quotas/rate-limit", "list")} names the quotas (${helpAsCalled("docs/runbook.md")}, A quota refuses too much).`;

/** Says why no policy can be asked about a login. */
export function noPolicyText(line: LoginLine): string {
  const { status, check, mount } = line;
  if (!wasRefused(line)) return "It is a login: policies decide about what its token does, not about the login.";
  if (!mount) return "It is a login at a path where no auth method is mounted.";
  if (status === 429) return `It is a login: ${refusedByQuota()}`;
  if (check?.name === "entity") return "It is a login: no policy refused it, but the state of its entity.";
  return `It is a login: no policy refused it, but ${check ? "a check of its method" : "what its error says"}.`;
}

function outcomeOf(line: LoginLine): string {
  const { status, error, path } = line;
  if (wasRefused(line)) return `was refused with status ${status}${error ? `: ${error}` : ""}`;
  if (status >= 400) return `waits for the person: ${error}`;
  return path.endsWith("/auth_url") ? "began" : "succeeded";
}
