import { endRequestOf } from "../../../auth/caller.ts";
import type { CallContext } from "../../../auth/route.ts";
import { type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { walkOfMount } from "../../../lease/walk.ts";
import type { EndJob } from "../../../lease/walk-job.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "../../../system/mount.ts";
import { configureMount, mountTypeProblem, normalizeMountPath } from "../../../system/mount-rules.ts";
import { systemOf } from "../../../system/system.ts";
import { fieldSchema, flag, objectOf, text, unread, type Values } from "../../../wire/fields.ts";
import { EMPTY, type Reply } from "../../../wire/reply.ts";
import { changedReply } from "../../changed-reply.ts";
import { MOUNT_CONFIG, readSettings, UNUSED_SETTINGS } from "./settings.ts";

/** Fields of the request that enables a mount. */
export const ENABLE_FIELDS = fieldSchema({
  type: text().describe("The type of the auth method"),
  description: text().describe("For people"),
  config: objectOf(MOUNT_CONFIG).describe("The tuning of the mount"),
  local: flag(false).describe("Kept and shown"),
  seal_wrap: unread("boolean").describe("Without effect"),
  external_entropy_access: unread("boolean").describe("Without effect"),
  ...UNUSED_SETTINGS,
});

/** Enables an auth method at a path that no mount has. */
export async function enableMount({
  env,
  params,
  fields,
  methods,
}: Pick<CallContext<Values<typeof ENABLE_FIELDS>, null>, "env" | "params" | "fields" | "methods">): Promise<
  Result<Reply, Failure>
> {
  const problem = mountTypeProblem(fields.type, [...methods.keys()]);
  if (problem) return err(invalid(problem));
  const change = readSettings(fields.config, fields.description);
  if (!change.ok) return change;
  const config = configureMount(DEFAULT_MOUNT_CONFIG, change.value);
  if (!config.ok) return err(invalid(config.error));
  const path = normalizeMountPath(params.path ?? "");
  const mount = newMount({
    path,
    type: fields.type,
    description: fields.description,
    config: config.value,
    ...(fields.local && { local: true }),
  });
  const enabled = await systemOf(env).enableMount(mount);
  return enabled.ok ? changedReply(env) : enabled;
}

/** Disables a mount. From the answer on the mount is gone, its place is free, and nothing that it issued is accepted. */
export async function disableMount({
  env,
  params,
  caller,
  request,
}: Pick<CallContext<object, null>, "caller" | "env" | "params" | "request">): Promise<Result<Reply, Failure>> {
  const path = normalizeMountPath(params.path ?? "");
  if (path === "token/") return err(invalid("token credential backend cannot be disabled"));
  const mount = await systemOf(env).findMount(path);
  if (!mount) return ok(EMPTY);
  const { uuid, type } = mount;
  const job: EndJob = {
    mode: "revoke",
    prefix: `auth/${path}`,
    createdBefore: null,
    mount: { path, uuid, type },
    asked: endRequestOf(caller, request),
  };
  const ended = await walkOfMount(env, uuid).endTokens(job);
  // Without a warning about other isolates: clients expect 204.
  return ended.ok ? changedReply(env) : ended;
}
