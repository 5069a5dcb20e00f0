import * as z from "zod";
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

/** The end of the path of a login, after its mount. */
const LOGIN = /^(?:login|oidc\/callback)$/;
/** The path of a login whose line has no mount. A role may be named login, so only the whole path counts. */
const LOGIN_PATH = /^auth\/[^/]+\/(?:login|oidc\/callback)$/;

/** True for a login, also one that was refused before its role was read. */
export function isLogin({ path, mount, role, principal }: LoginLine): boolean {
  if (role || principal) return true;
  return mount && path.startsWith(mount) ? LOGIN.test(path.slice(mount.length)) : LOGIN_PATH.test(path);
}

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
  const { time, status, error, client_address: address, mount, role, principal } = line;
  const where = mount ?? line.path.replace(/(?:login|oidc\/callback)$/, "");
  const mayRead = mount && (await isAllowed(client, "sys/auth", ["read"]));
  const methods = mayRead ? await client.get("sys/auth", METHODS) : null;
  const type = methods?.ok ? methods.value[where.replace(/^auth\//, "")]?.type : undefined;
  const how = type === undefined ? "" : ` by ${NAMES[type] ?? type}`;
  const forRole = !role ? "" : HASHED.test(role) ? ", for a role that it does not have" : `, for the role ${role}`;
  const who = `a login${how} at ${where}${forRole}${principal ? `, as ${principal}` : ""}${address ? `, from ${address}` : ""}`;
  const came = status < 400 ? "succeeded" : `was refused with status ${status}${error ? `: ${error}` : ""}`;
  const texts = [`${time}: ${who}, ${came}`];
  if (status < 400) return texts;
  const check = mount ? await failedCheck(client, mount, line) : null;
  const read = readCommand(`${where}explain/refused`);
  return [
    ...texts,
    ...(check === null ? [] : [`The check that failed: ${check}`]),
    `what was refused there lately, and why: ${read}`,
  ];
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
