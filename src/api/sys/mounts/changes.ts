import { endRequestOf } from "../../../auth/caller.ts";
import { readRoute } from "../../../auth/record-routes.ts";
import { type Answered, type CallContext, type Route, simpleRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, injectedAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { err, type Failure, invalid, ok, type Result } from "../../../base/result.ts";
import { walkOf, walkOfMount } from "../../../lease/walk.ts";
import type { EndJob } from "../../../lease/walk-job.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "../../../system/mount.ts";
import { configureMount, type MountChange, mountTypeProblem, normalizeMountPath } from "../../../system/mount-rules.ts";
import { systemOf } from "../../../system/system.ts";
import { pathScope } from "../../../system/watermarks.ts";
import {
  commaList,
  fieldSchema,
  flag,
  objectOf,
  optionalText,
  text,
  unread,
  type Values,
} from "../../../wire/fields.ts";
import { EMPTY, injectedReply } from "../../../wire/reply.ts";
import { changedReply, endedReply } from "../../changed-reply.ts";
import { notBefore, readNotBefore } from "../../not-before.ts";
import { TUNE_VIEW } from "./view.ts";

/** What `sys/auth` says of a path without a mount. The message is the reference's. */
export function noAuthMount(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}

/**
 * What `sys/mounts` says of a place without a mount; of an auth mount `path` begins with "auth/".
 * The message is the reference's.
 */
export function noEngine(path: string): Failure {
  return invalid(`No secret engine mount at ${path}`);
}

/** Settings of the reference that clients send with every mount; Grove does not use them. */
const UNUSED_SETTINGS = {
  force_no_cache: unread("boolean").describe("Without effect"),
  options: unread("object").describe("Without effect"),
  plugin_name: unread("string").describe("Without effect"),
  plugin_version: unread("string").describe("Without effect"),
};

/** What can be set when a mount is enabled, and when it is tuned. */
const SETTINGS = {
  default_lease_ttl: text().describe("How long tokens live unless the login says else; `system` for the system's time"),
  max_lease_ttl: text().describe("How long tokens live at most; `system` for the system's time"),
  token_type: optionalText().describe("The kind of tokens: `default-service`, `default-batch`, `service` or `batch`"),
  listing_visibility: optionalText().describe("`unauth`: listed for user interfaces before login"),
  passthrough_request_headers: commaList().describe("Kept and shown"),
  allowed_response_headers: commaList().describe("Kept and shown"),
  audit_non_hmac_request_keys: commaList().describe("Fields that the audit log shows as they are"),
  audit_non_hmac_response_keys: commaList().describe("Kept and shown"),
  location_hint: optionalText().describe(
    "Where tokens are stored: a location hint of Cloudflare's; empty for near the client",
  ),
};

/** The settings as a field of the request that enables a mount. */
const MOUNT_CONFIG = fieldSchema({ ...SETTINGS, ...UNUSED_SETTINGS });

/** What the settings of a request change. `description` is null when it stays. */
function readSettings(settings: Values<typeof MOUNT_CONFIG>, description: string | null): Result<MountChange> {
  const defaultLeaseTtl = readTtl(settings.default_lease_ttl);
  if (defaultLeaseTtl === undefined) return err(invalid("unable to parse default TTL"));
  const maxLeaseTtl = readTtl(settings.max_lease_ttl);
  if (maxLeaseTtl === undefined) return err(invalid("unable to parse max TTL"));
  return ok({
    description,
    defaultLeaseTtl,
    maxLeaseTtl,
    tokenType: settings.token_type === "" ? DEFAULT_MOUNT_CONFIG.tokenType : settings.token_type,
    listingVisibility: settings.listing_visibility,
    passthroughRequestHeaders: settings.passthrough_request_headers,
    allowedResponseHeaders: settings.allowed_response_headers,
    auditNonHmacRequestKeys: settings.audit_non_hmac_request_keys,
    auditNonHmacResponseKeys: settings.audit_non_hmac_response_keys,
    locationHint: settings.location_hint,
  });
}

/** Seconds; null when nothing was sent; undefined for what is no lifetime. `system` goes back to the system's. */
function readTtl(sent: string): number | null | undefined {
  if (sent === "") return null;
  if (sent === "system") return 0;
  const parsed = parseDuration(sent);
  return parsed.ok && parsed.value >= 0 ? parsed.value : undefined;
}

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
}: CallContext<Values<typeof ENABLE_FIELDS>>): Answered {
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
export async function disableMount({ env, params, caller, request }: CallContext): Answered {
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

/** How the path of the tuning of a mount ends. */
export const TUNE_SUFFIX = /\/tune$/;

const TUNE_FIELDS = fieldSchema({
  description: optionalText().describe("For people"),
  ...SETTINGS,
  not_before: text().describe("`now` or a time: tokens that the mount gave before are not accepted any more"),
  ...UNUSED_SETTINGS,
  user_lockout_config: unread("object").describe("Without effect"),
});

/** Reading and changing the tuning of an auth mount, at one of the places where clients do so. */
export function tuneMountRoutes(path: string, ids: Readonly<Record<"read" | "write", string>>): Route[] {
  return [
    readRoute(path, {
      summary: "Shows the tuning of an auth mount.",
      operationId: ids.read,
      answers: injectedAnswer({ ...TUNE_VIEW.shape, "not_before?": "string" }),
      handle: async ({ installation, params }) => {
        const mountPath = tunedPath(params);
        const mount = installation.mountAt(mountPath);
        if (!mount) return err(noAuthMount(mountPath));
        const time = notBefore(installation.watermarks, pathScope(`auth/${mountPath}`));
        return ok(injectedReply({ ...TUNE_VIEW.show(mount), ...(time !== null && { not_before: time }) }));
      },
    }),
    simpleRoute("update", path, {
      summary: "Changes the tuning of an auth mount.",
      operationId: ids.write,
      answers: DONE_OR_WARNED,
      input: TUNE_FIELDS,
      handle: async ({ env, params, fields, verdict, caller, request }) => {
        const change = readSettings(fields, fields.description);
        if (!change.ok) return change;
        // It revokes, and below sys/mounts/ tuning asks for no sudo.
        if (fields.not_before !== "" && !verdict.sudo) return err({ code: "permission_denied" });
        const createdBefore = fields.not_before === "" ? ok(null) : readNotBefore(fields.not_before, currentTime());
        if (!createdBefore.ok) return createdBefore;
        const mountPath = tunedPath(params);
        const tuned = await systemOf(env).tuneMount(mountPath, change.value);
        if (!tuned.ok) return tuned;
        if (fields.not_before === "") return changedReply(env);
        const job = { mode: "revoke", prefix: `auth/${mountPath}` } as const;
        const asked = endRequestOf(caller, request);
        const end = { ...job, createdBefore: createdBefore.value, mount: null, asked };
        const ended = await walkOf(env, job).endTokens(end);
        return ended.ok ? endedReply(env) : ended;
      },
    }),
  ];
}

/** The path of the mount that is tuned, as it is stored. */
export function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}
