import * as z from "zod";
import { isLoginPath, LOGIN_PATHS } from "../../../src/base/login-paths.ts";
import { isAllowed } from "../capabilities.ts";
import type { GroveClient } from "../client.ts";
import { readCommand } from "../curl.ts";

/** The line of a login in an audit log. */
export interface LoginLine {
  readonly time: string;
  readonly path: string;
  readonly status: number;
  readonly error?: string | null | undefined;
  readonly client_address?: string | null | undefined;
  /** With `auth/`. */
  readonly mount?: string | null | undefined;
  readonly role?: string | null | undefined;
  readonly principal?: string | null | undefined;
}

/** What a client that polls is answered until the person has consented. */
const WAITING: ReadonlySet<string> = new Set(["authorization_pending", "slow_down"]);

/** True for a login or a step of one, also one that was refused before its role was read. */
export function isLogin({ path, mount, role, principal }: LoginLine): boolean {
  return Boolean(role || principal) || isLoginPath(path, mount || firstMount(path));
}

/** True for a login that was refused. One that waits for the person is not, although its status says so. */
export function wasRefused({ status, error }: LoginLine): boolean {
  return status >= 400 && !WAITING.has(error ?? "");
}

/** The mount of a path whose line has none, if its name has no slash. A role may be named login. */
function firstMount(path: string): string {
  return `${path.split("/", 2).join("/")}/`;
}

const BELOW_MOUNT = new RegExp(`(?<=/)(?:${LOGIN_PATHS.join("|")})$`);

const METHODS = z.record(z.string(), z.looseObject({ type: z.string() }));
const REFUSED = z.object({
  refused: z.array(
    z.looseObject({ role: z.string(), check: z.string(), description: z.string(), last_time: z.string() }),
  ),
});

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
  const { time, client_address: address, mount, role, principal } = line;
  const where = mount ?? line.path.replace(BELOW_MOUNT, "");
  const mayRead = mount && (await isAllowed(client, "sys/auth", ["read"]));
  const methods = mayRead ? await client.get("sys/auth", METHODS) : null;
  const type = methods?.ok ? methods.value[where.replace(/^auth\//, "")]?.type : undefined;
  const how = type === undefined ? "" : ` by ${NAMES[type] ?? type}`;
  const forRole = !role ? "" : HASHED.test(role) ? ", for a role that it does not have" : `, for the role ${role}`;
  const who = `a login${how} at ${where}${forRole}${principal ? `, as ${principal}` : ""}${address ? `, from ${address}` : ""}`;
  const texts = [`${time}: ${who}, ${outcomeOf(line)}`];
  if (!wasRefused(line)) return texts;
  const check = mount ? await failedCheck(client, mount, line) : null;
  const read = readCommand(`${where}explain/refused`);
  return [
    ...texts,
    ...(check === null ? [] : [`The check that failed: ${check}`]),
    `what was refused there lately, and why: ${read}`,
  ];
}

function outcomeOf(line: LoginLine): string {
  const { status, error, path } = line;
  if (wasRefused(line)) return `was refused with status ${status}${error ? `: ${error}` : ""}`;
  if (status >= 400) return `waits for the person: ${error}`;
  return path.endsWith("/auth_url") ? "began" : "succeeded";
}

/** The check at which this login failed; null when the last refused login of the role is another one. */
async function failedCheck(client: GroveClient, mount: string, { time, role }: LoginLine): Promise<string | null> {
  const path = `${mount}explain/refused`;
  if (!(await isAllowed(client, path, ["read"]))) return null;
  const answer = await client.get(path, REFUSED);
  if (!answer.ok) return null;
  const found = answer.value.refused.find(
    (one) => one.last_time === time && (!role || HASHED.test(role) || one.role === role),
  );
  return found ? `${found.check} (${found.description})` : null;
}
