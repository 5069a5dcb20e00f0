import { setTimeout as pause } from "node:timers/promises";
import { type Json, member } from "../../servers/client.ts";
import { isAnswer, type Recorder } from "./recorder.ts";

/** A token role. */
export interface Role {
  readonly name: string;
  /** The group of its tokens in the history. */
  readonly group: string;
}

/** A mount of the AppRole method, with a role for service tokens and one for batch tokens. */
export interface LoginMount {
  readonly path: string;
  readonly roleIds: Readonly<Record<LoginRole, string>>;
  readonly group: string;
}

type LoginRole = (typeof LOGIN_ROLES)[number];
export const LOGIN_ROLES = ["service", "batch"] as const;

/** Time after which every server knows a new mount, even with an old snapshot (ms). */
const KNOWN_MS = 6_000;

let made = 0;

/** Creates a token role. Null when the server does not create it. */
export async function makeRole(recorder: Recorder): Promise<Role | null> {
  const name = `kill-role-${made++}`;
  const body = { orphan: true, allowed_policies: "root" };
  const reply = await recorder.sendUntilAnswered("POST", `v1/auth/token/roles/${name}`, { body });
  return reply?.status === 204 ? { name, group: `role ${name}` } : null;
}

/** Creates a mount whose secret-ids are valid for one login each. Null when the server does not create it. */
export async function makeLoginMount(recorder: Recorder): Promise<LoginMount | null> {
  const path = `kill-login-${made++}`;
  const roleIds: Record<LoginRole, string> = { service: "", batch: "" };
  const write = (below: string, body: Json) => recorder.sendUntilAnswered("POST", `v1/${below}`, { body });
  const enabled = await write(`sys/auth/${path}`, { type: "approle" });
  // A repetition finds the mount that a request without an answer has enabled.
  if (enabled?.status !== 204 && !/is already in use/.test(JSON.stringify(enabled?.body))) {
    recorder.surprise(`${path} was not enabled: ${enabled?.status} ${JSON.stringify(enabled?.body)}`);
    return null;
  }
  await pause(KNOWN_MS);
  // All clients share one address, so the default limit per address would throttle them.
  await write(`sys/quotas/rate-limit/${path}`, { path: `auth/${path}`, rate: 1_000_000 });
  for (const type of LOGIN_ROLES) {
    const role = `auth/${path}/role/${type}`;
    await write(role, { token_type: type, token_policies: "default", token_ttl: "24h", secret_id_num_uses: 1 });
    const reply = await recorder.sendUntilAnswered("GET", `v1/${role}/role-id`);
    const id = member(reply?.body, "data", "role_id");
    if (typeof id !== "string") return null;
    roleIds[type] = id;
  }
  return { path, roleIds, group: `mount ${path}` };
}

/** Ends the tokens of a role or a mount with a watermark. @returns false when it is unknown whether that succeeded. */
export async function endGroup(recorder: Recorder, of: Role | LoginMount): Promise<boolean> {
  const isMount = "path" in of;
  const paths = isMount
    ? [`sys/auth/${of.path}/tune`, `sys/leases/revoke-prefix/auth/${of.path}`]
    : [`auth/token/roles/${of.name}/revoke-tokens`, `sys/leases/revoke-prefix/auth/token/create/${of.name}`];
  const path = paths[recorder.choices.below(paths.length)] ?? "";
  const begin = performance.now();
  const body = path.endsWith("/tune") ? { not_before: "now" } : {};
  const reply = await recorder.send("POST", `v1/${path}`, { body, waits: true });
  const isDone = isAnswer(reply) && reply.status < 300;
  recorder.history.push({ kind: "watermark", group: of.group, begin, end: isDone ? performance.now() : null });
  return isDone;
}
