import { endRequestOf } from "../../../auth/caller.ts";
import { readRoute } from "../../../auth/record-routes.ts";
import {
  type Answered,
  type CallContext,
  type ReadyContext,
  type Route,
  simpleRoute,
  withCanonicalPath,
  withParameters,
} from "../../../auth/route.ts";
import { DONE_OR_WARNED, injectedAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { DENIED, err, type Failure, invalid, ok, type Result, refuse } from "../../../base/result.ts";
import { walkOfMount } from "../../../lease/walk.ts";
import type { EndJob } from "../../../lease/walk-job.ts";
import type { Installation } from "../../../system/installation.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "../../../system/mount.ts";
import { configureMount, type MountChange, mountTypeProblem, normalizeMountPath } from "../../../system/mount-rules.ts";
import { systemOf } from "../../../system/system.ts";
import { pathScope } from "../../../system/watermarks.ts";
import { fieldSchema, flag, list, NO_FIELDS, objectOf, sent, text, unread, type Values } from "../../../wire/fields.ts";
import { EMPTY, injectedReply, type Reply } from "../../../wire/reply.ts";
import { changedReply, endBelow } from "../../changed-reply.ts";
import { notBefore, readNotBefore } from "../../not-before.ts";
import { fixedMounts, MOUNT_VIEW, shownMounts, TUNE_VIEW } from "./view.ts";

/** What `sys/auth` says of a path without a mount. The message is the reference's. */
function noAuthMount(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}

/**
 * What `sys/mounts` says of a place without a mount; of an auth mount `path` begins with "auth/".
 * The message is the reference's.
 */
function noEngine(path: string): Failure {
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
  token_type: sent(text()).describe("The kind of tokens: `default-service`, `default-batch`, `service` or `batch`"),
  listing_visibility: sent(text()).describe("`unauth`: listed for user interfaces before login"),
  passthrough_request_headers: sent(list()).describe("Kept and shown"),
  allowed_response_headers: sent(list()).describe("Kept and shown"),
  audit_non_hmac_request_keys: sent(list()).describe("Fields that the audit log shows as they are"),
  audit_non_hmac_response_keys: sent(list()).describe("Kept and shown"),
  location_hint: sent(text()).describe(
    "Where tokens are stored: a location hint of Cloudflare's; empty for near the client",
  ),
};

/** The settings as a field of the request that enables a mount. */
const MOUNT_CONFIG = fieldSchema({ ...SETTINGS, ...UNUSED_SETTINGS });

/** What the settings of a request change. `description` is undefined when it stays. */
function readSettings(settings: Values<typeof MOUNT_CONFIG>, description: string | undefined): Result<MountChange> {
  const defaultLeaseTtl = readTtl(settings.default_lease_ttl);
  if (defaultLeaseTtl === undefined) return refuse("unable to parse default TTL");
  const maxLeaseTtl = readTtl(settings.max_lease_ttl);
  if (maxLeaseTtl === undefined) return refuse("unable to parse max TTL");
  return ok({
    description: description ?? null,
    defaultLeaseTtl,
    maxLeaseTtl,
    tokenType: settings.token_type === "" ? DEFAULT_MOUNT_CONFIG.tokenType : (settings.token_type ?? null),
    listingVisibility: settings.listing_visibility ?? null,
    passthroughRequestHeaders: settings.passthrough_request_headers ?? null,
    allowedResponseHeaders: settings.allowed_response_headers ?? null,
    auditNonHmacRequestKeys: settings.audit_non_hmac_request_keys ?? null,
    auditNonHmacResponseKeys: settings.audit_non_hmac_response_keys ?? null,
    locationHint: settings.location_hint ?? null,
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
const ENABLE_FIELDS = fieldSchema({
  type: text().describe("The type of the auth method"),
  description: text().describe("For people"),
  config: objectOf(MOUNT_CONFIG).describe("The tuning of the mount"),
  local: flag(false).describe("Kept and shown"),
  seal_wrap: unread("boolean").describe("Without effect"),
  external_entropy_access: unread("boolean").describe("Without effect"),
  ...UNUSED_SETTINGS,
});

/** Enables an auth method at a path that no mount has. */
async function enableMount({ env, params, fields, methods }: CallContext<Values<typeof ENABLE_FIELDS>>): Answered {
  const problem = mountTypeProblem(fields.type, [...methods.keys()]);
  if (problem) return refuse(problem);
  const change = readSettings(fields.config, fields.description);
  if (!change.ok) return change;
  const config = configureMount(DEFAULT_MOUNT_CONFIG, change.value);
  if (!config.ok) return refuse(config.error);
  const path = normalizeMountPath(params.path ?? "");
  const mount = newMount({
    path,
    type: fields.type,
    description: fields.description,
    config: config.value,
    ...(fields.local && { local: true }),
  });
  return changedReply(env, await systemOf(env).enableMount(mount));
}

/** Disables a mount. From the answer on the mount is gone, its place is free, and nothing that it issued is accepted. */
async function disableMount({ env, params, caller, request }: CallContext): Answered {
  const path = normalizeMountPath(params.path ?? "");
  if (path === "token/") return refuse("token credential backend cannot be disabled");
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
  // Without a warning about other isolates: clients expect 204.
  return changedReply(env, await walkOfMount(env, uuid).endTokens(job));
}

/** How the path of the tuning of a mount ends. */
const TUNE_SUFFIX = /\/tune$/;

const TUNE_FIELDS = fieldSchema({
  description: sent(text()).describe("For people"),
  ...SETTINGS,
  not_before: text().describe("`now` or a time: tokens that the mount gave before are not accepted any more"),
  ...UNUSED_SETTINGS,
  user_lockout_config: unread("object").describe("Without effect"),
});

/** Reading and changing the tuning of an auth mount, at one of the places where clients do so. */
function tuneMountRoutes(path: string, ids: Readonly<Record<"read" | "write", string>>): Route[] {
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
      handle: async (context) => {
        const { env, params, fields, verdict } = context;
        const change = readSettings(fields, fields.description);
        if (!change.ok) return change;
        // It revokes, and below sys/mounts/ tuning asks for no sudo.
        if (fields.not_before !== "" && !verdict.sudo) return err(DENIED);
        const createdBefore = fields.not_before === "" ? ok(null) : readNotBefore(fields.not_before, currentTime());
        if (!createdBefore.ok) return createdBefore;
        const mountPath = tunedPath(params);
        const tuned = await systemOf(env).tuneMount(mountPath, change.value);
        if (!tuned.ok) return tuned;
        if (fields.not_before === "") return changedReply(env, tuned);
        return endBelow(context, { mode: "revoke", prefix: `auth/${mountPath}` }, createdBefore.value);
      },
    }),
  ];
}

/** The path of the mount that is tuned, as it is stored. */
function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}

/** Auth mounts and their tuning, and what there is of other mounts. */
export const MOUNT_ROUTES: readonly Route[] = withParameters(
  { path: "The path of the mount" },
  withCanonicalPath(canonicalMountPath, [
    readRoute("sys/auth", {
      summary: "Lists the auth mounts.",
      operationId: "auth-list-enabled-methods",
      answers: injectedAnswer({ "*": MOUNT_VIEW.shape }),
      handle: async ({ installation }) =>
        ok(injectedReply(shownMounts(installation.mounts.map((mount) => [mount.path, mount])))),
    }),
    // Before the mounts themselves, whose paths can have several segments.
    ...tuneMountRoutes("sys/auth/:path{.+/tune}", {
      read: "auth-read-tuning-information",
      write: "auth-tune-configuration-parameters",
    }),
    ...tuneMountRoutes("sys/mounts/auth/:path{.+/tune}", {
      read: "mounts-read-auth-tuning-information",
      write: "mounts-tune-auth-configuration-parameters",
    }),
    readRoute("sys/mounts/:path{.+/tune}", {
      summary: "Shows the tuning of a mount that every installation has.",
      operationId: "mounts-read-tuning-information",
      answers: injectedAnswer({ ...TUNE_VIEW.shape, "not_before?": "string" }),
      handle: async ({ installation, params }) => {
        const path = tunedPath(params);
        const mount = await fixedMountAt(installation, path);
        return mount ? ok(injectedReply(TUNE_VIEW.show(mount))) : err(noEngine(path));
      },
    }),
    readRoute("sys/auth/:path{.+}", {
      summary: "Shows an auth mount.",
      operationId: "auth-read-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: async (context) => readMount(context, noAuthMount),
    }),
    simpleRoute("update", "sys/auth/:path{.+}", {
      summary: "Enables an auth method at a path.",
      operationId: "auth-enable-method",
      answers: NO_CONTENT,
      input: ENABLE_FIELDS,
      handle: enableMount,
    }),
    simpleRoute("delete", "sys/auth/:path{.+}", {
      summary: "Disables an auth mount: revokes all tokens that it gave, and deletes what it stored.",
      operationId: "auth-disable-method",
      answers: DONE_OR_WARNED,
      input: NO_FIELDS,
      handle: disableMount,
    }),

    readRoute("sys/mounts", {
      summary: "Lists the mounts that every installation has.",
      operationId: "mounts-list-secrets-engines",
      answers: injectedAnswer({ "*": MOUNT_VIEW.shape }),
      handle: async ({ installation }) => ok(injectedReply(shownMounts(await fixedMounts(installation.clusterId)))),
    }),
    // Clients that manage mounts of every kind read an auth mount here too.
    readRoute("sys/mounts/auth/:path{.+}", {
      summary: "Shows an auth mount, for clients that read mounts of every kind here.",
      operationId: "mounts-read-auth-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: async (context) => readMount(context, (path) => noEngine(`auth/${path}`)),
    }),
    readRoute("sys/mounts/:path{.+}", {
      summary: "Shows a mount that every installation has.",
      operationId: "mounts-read-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: async ({ installation, params }) => {
        const path = normalizeMountPath(params.path ?? "");
        const mount = await fixedMountAt(installation, path);
        return mount ? ok(injectedReply(MOUNT_VIEW.show(mount))) : err(noEngine(path));
      },
    }),
  ]),
);

/** Answers with an auth mount, or with what `missing` says of its path. */
function readMount({ installation, params }: ReadyContext, missing: (path: string) => Failure): Result<Reply> {
  const path = normalizeMountPath(params.path ?? "");
  const mount = installation.mountAt(path);
  return mount ? ok(injectedReply(MOUNT_VIEW.show(mount))) : err(missing(path));
}

async function fixedMountAt({ clusterId }: Installation, path: string) {
  return (await fixedMounts(clusterId)).find(([at]) => at === path)?.[1];
}

/** The path with that of the mount as it is stored, without the slash at its end. */
function canonicalMountPath(path: string): string {
  return path.replace(/^(sys\/(?:auth|mounts(?:\/auth)?)\/)(.*)$/s, (_, place: string, below: string) => {
    const mount = normalizeMountPath(below.replace(TUNE_SUFFIX, ""));
    return place + (TUNE_SUFFIX.test(below) ? `${mount}tune` : mount.slice(0, -1));
  });
}
