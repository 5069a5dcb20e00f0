import {
  type Answered,
  type CallContext,
  type ReadyContext,
  type Route,
  simpleRoute,
  tokenRoute,
  withParameters,
  withPolicyPaths,
} from "../../../auth/route.ts";
import { dataAnswer, injectedAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { parseDuration } from "../../../base/duration.ts";
import { MAX_PATH_LENGTH } from "../../../base/limits.ts";
import { DENIED, err, NOT_FOUND, ok, okUnless, type Result, refuse } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import {
  configureMount,
  DEFAULT_MOUNT_CONFIG,
  type MountChange,
  mountChangeProblem,
  mountIssuerOf,
  mountPathProblem,
  mountTypeProblem,
  newMount,
  normalizeMountPath,
} from "../../../system/mount.ts";
import { systemOf } from "../../../system/system.ts";
import { pathScope } from "../../../system/watermarks.ts";
import { fieldSchema, flag, list, objectOf, sent, text, unread, type Values } from "../../../wire/fields.ts";
import { injectedReply, type Reply } from "../../../wire/reply.ts";
import { changedReply, endedReply } from "../../change-reply.ts";
import { endBelow, endMount, notBefore, readPastTime } from "../../end-tokens.ts";
import { fixedMounts, MOUNT_VIEW, shownMounts, TUNE_VIEW } from "./view.ts";

/** Settings that clients of the reference send with every mount. Grove does not use them. */
const UNUSED_SETTINGS = {
  force_no_cache: unread("boolean").describe("Without effect"),
  options: unread("object").describe("Without effect"),
  plugin_name: unread("string").describe("Without effect"),
  plugin_version: unread("string").describe("Without effect"),
};

/** Settings that are set when a mount is enabled, and changed when it is tuned. */
const SETTINGS = {
  default_lease_ttl: text().describe("Lifetime of tokens whose login sets none; `system`: the system's default"),
  max_lease_ttl: text().describe("Maximum lifetime of tokens; `system`: the system's maximum"),
  token_type: sent(text()).describe("Type of tokens: `default-service`, `default-batch`, `service` or `batch`"),
  listing_visibility: sent(text()).describe("`unauth`: user interfaces can list the mount before login"),
  passthrough_request_headers: sent(list()).describe("Stored and shown, without effect"),
  allowed_response_headers: sent(list()).describe("Stored and shown, without effect"),
  audit_non_hmac_request_keys: sent(list()).describe("Fields that the audit log contains in clear text"),
  audit_non_hmac_response_keys: sent(list()).describe("Stored and shown, without effect"),
  location_hint: sent(text()).describe("Cloudflare's location hint for tokens; empty: near the client"),
};

const MOUNT_CONFIG = fieldSchema({ ...SETTINGS, ...UNUSED_SETTINGS });

/** @param description undefined: it is not changed. */
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

/** Reads a lifetime: null when none was sent, 0 for `system`, undefined for an invalid value. */
function readTtl(sent: string): number | null | undefined {
  if (sent === "") return null;
  if (sent === "system") return 0;
  const parsed = parseDuration(sent);
  return parsed.ok && parsed.value >= 0 ? parsed.value : undefined;
}

/**
 * Disables a mount. When this is answered, its path is free, and no token that it issued is accepted. A mount that is not
 * there may have been disabled just now, by a call whose answer was lost.
 */
async function disableMount(context: CallContext): Answered {
  const { env, params } = context;
  const path = normalizeMountPath(params.path ?? "");
  if (path === "token/") return refuse("token credential backend cannot be disabled");
  const mount = await systemOf(env).findMount(path);
  if (!mount) return endedReply(env, ok(null));
  const { uuid, type } = mount;
  return endedReply(env, await endMount(context, uuid, { path, uuid, type }));
}

const TUNE_SUFFIX = /\/tune$/;

const TUNE_SHAPE = { ...TUNE_VIEW.shape, "not_before?": "string" } as const;

const TUNE_FIELDS = fieldSchema({
  description: sent(text()).describe("Description of the mount"),
  ...SETTINGS,
  not_before: text().describe("`now` or a time: tokens that the mount issued before are refused"),
  ...UNUSED_SETTINGS,
  user_lockout_config: unread("object").describe("Without effect"),
});

/** Defines the routes of the settings of an auth mount, at one of the two paths that clients use. */
function tuneRoutes(path: string, readId: string, writeId: string): Route[] {
  return [
    simpleRoute("read", path, {
      summary: "Shows the settings of an auth mount.",
      operationId: readId,
      answers: injectedAnswer(TUNE_SHAPE),
      handle: async ({ installation, params }) => {
        const mountPath = tunedPath(params);
        const mount = installation.mountAt(mountPath);
        if (!mount) return refuse(`No auth engine at ${mountPath}`);
        const time = notBefore(installation.watermarks, pathScope(`auth/${mountPath}`));
        return injectedReply({ ...TUNE_VIEW.show(mount), ...(time !== null && { not_before: time }) });
      },
    }),
    tokenRoute("update", path, {
      summary: "Changes the settings of an auth mount.",
      operationId: writeId,
      answers: NO_CONTENT,
      input: TUNE_FIELDS,
      prepare: async ({ fields }) => {
        const change = readSettings(fields, fields.description);
        if (!change.ok) return change;
        const problem = mountChangeProblem(change.value);
        if (problem) return refuse(problem);
        const revokes = fields.not_before !== "";
        const createdBefore = revokes ? readPastTime(fields.not_before, "not_before", currentTime()) : ok(null);
        return createdBefore.ok
          ? ok({ change: change.value, revokes, createdBefore: createdBefore.value })
          : createdBefore;
      },
      handle: async (context) => {
        const { env, installation, params, fields, prepared, verdict } = context;
        const { change, createdBefore } = prepared;
        const mountPath = tunedPath(params);
        const inForce = notBefore(installation.watermarks, pathScope(`auth/${mountPath}`));
        // Revocation needs sudo, which the policies do not require at the path below sys/mounts/. A client may write
        // the time back as it read it: that revokes nothing.
        const revokes = prepared.revokes && (verdict.sudo || fields.not_before !== inForce);
        if (revokes && !verdict.sudo) return err(DENIED);
        const tuned = await systemOf(env).tuneMount(mountPath, change);
        if (!tuned.ok || !revokes) return changedReply(env, tuned);
        const job = { mode: "revoke", prefix: `auth/${mountPath}` } as const;
        return endedReply(env, await endBelow(context, job, createdBefore));
      },
    }),
  ];
}

function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}

const MOVED = "The mount is at its new path. Tokens that it issued at the old path are not accepted any more";

/** Auth mounts with their settings, moves of them to other paths, and the fixed mounts of every installation. */
export const MOUNT_ROUTES: readonly Route[] = withParameters({ path: "The path of the mount" }, [
  ...withPolicyPaths({ canonicalPath: canonicalMountPath }, [
    simpleRoute("read", "sys/auth", {
      summary: "Lists the auth mounts.",
      operationId: "auth-list-enabled-methods",
      answers: injectedAnswer({ "*": MOUNT_VIEW.shape }),
      handle: async ({ installation }) =>
        injectedReply(shownMounts(installation.mounts.map((mount) => [mount.path, mount]))),
    }),
    // Before the routes of mounts, whose paths can have several segments.
    ...tuneRoutes("sys/auth/:path{.+/tune}", "auth-read-tuning-information", "auth-tune-configuration-parameters"),
    ...tuneRoutes(
      "sys/mounts/auth/:path{.+/tune}",
      "mounts-read-auth-tuning-information",
      "mounts-tune-auth-configuration-parameters",
    ),
    simpleRoute("read", "sys/mounts/:path{.+/tune}", {
      summary: "Shows the settings of a fixed mount.",
      operationId: "mounts-read-tuning-information",
      answers: injectedAnswer(TUNE_SHAPE),
      handle: ({ installation, params }) => showFixed(installation, tunedPath(params), TUNE_VIEW),
    }),
    simpleRoute("read", "sys/auth/:path{.+}", {
      summary: "Shows an auth mount.",
      operationId: "auth-read-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: async (context) => readMount(context, "No auth engine at "),
    }),
    tokenRoute("update", "sys/auth/:path{.+}", {
      summary: "Enables an auth method at a path.",
      operationId: "auth-enable-method",
      answers: NO_CONTENT,
      input: fieldSchema({
        type: text().describe("The type of the auth method"),
        description: text().describe("Description of the mount"),
        config: objectOf(MOUNT_CONFIG).describe("The settings of the mount"),
        local: flag(false).describe("Stored and shown, without effect"),
        seal_wrap: unread("boolean").describe("Without effect"),
        external_entropy_access: unread("boolean").describe("Without effect"),
        ...UNUSED_SETTINGS,
      }),
      prepare: async ({ env, params, fields }) => {
        const path = normalizeMountPath(params.path ?? "");
        const problem = mountTypeProblem(fields.type, [...env.kinds.methods.keys()]) ?? mountPathProblem(path, []);
        if (problem) return refuse(problem);
        const change = readSettings(fields.config, fields.description);
        if (!change.ok) return change;
        const config = configureMount(DEFAULT_MOUNT_CONFIG, change.value);
        if (!config.ok) return refuse(config.error);
        const { type, description } = fields;
        return ok({ path, type, description, config: config.value, ...(fields.local && { local: true }) });
      },
      handle: async ({ env, prepared }) => changedReply(env, await systemOf(env).enableMount(newMount(prepared))),
    }),
    simpleRoute("delete", "sys/auth/:path{.+}", {
      summary: "Disables an auth mount, with its tokens and data.",
      operationId: "auth-disable-method",
      answers: NO_CONTENT,
      handle: disableMount,
    }),

    simpleRoute("read", "sys/mounts", {
      summary: "Lists the fixed mounts of every installation.",
      operationId: "mounts-list-secrets-engines",
      answers: injectedAnswer({ "*": MOUNT_VIEW.shape }),
      handle: async ({ installation }) => injectedReply(shownMounts(await fixedMounts(installation.clusterId))),
    }),
    simpleRoute("read", "sys/mounts/auth/:path{.+}", {
      summary: "Shows an auth mount.",
      operationId: "mounts-read-auth-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: async (context) => readMount(context, "No secret engine mount at auth/"),
    }),
    simpleRoute("read", "sys/mounts/:path{.+}", {
      summary: "Shows a fixed mount.",
      operationId: "mounts-read-configuration",
      answers: injectedAnswer(MOUNT_VIEW.shape),
      handle: ({ installation, params }) => showFixed(installation, normalizeMountPath(params.path ?? ""), MOUNT_VIEW),
    }),
  ]),

  tokenRoute("update", "sys/remount", {
    summary: "Moves an auth mount to another path.",
    operationId: "remount",
    answers: injectedAnswer({ migration_id: "string" }),
    input: fieldSchema({
      from: text().describe("The path of the mount, with `auth/` before it"),
      to: text().describe("Its new path, with `auth/` before it"),
    }),
    prepare: async ({ fields }) => readPaths(fields.from, fields.to),
    handle: async (context) => {
      const { env, prepared } = context;
      const { from, to } = prepared;
      const mount = await systemOf(env).findMount(from);
      if (!mount) return refuse(`no matching mount at "auth/${from}"`);
      const { uuid, type } = mount;
      const id = crypto.randomUUID();
      const ended = await endMount(context, id, {
        path: from,
        uuid,
        type,
        move: { id, to, issuer: mountIssuerOf(mount) },
      });
      return endedReply(env, ended, { kind: "data", data: { migration_id: id }, warnings: [MOVED], inject: true });
    },
  }),

  simpleRoute("read", "sys/remount/status/:migration_id", {
    summary: "Shows the state of a move of a mount.",
    operationId: "remount-status",
    parameters: { migration_id: "The id in the answer to the move" },
    answers: dataAnswer({
      migration_id: "string",
      migration_info: { source_mount: "string", target_mount: "string", status: "string" },
    }),
    handle: async ({ env, params }) => {
      const move = (await systemOf(env).findMove(params.migration_id ?? ""))?.move;
      if (!move) return NOT_FOUND;
      // A move is one step, so a move that is found has succeeded.
      const info = { source_mount: `auth/${move.from}`, target_mount: `auth/${move.to}`, status: "success" };
      // This reads the installation again, so that this isolate finds the mount at its new path.
      return changedReply(env, ok(move), { kind: "data", data: { migration_id: move.id, migration_info: info } });
    },
  }),
]);

/** @param missing beginning of the refusal, which is the reference's; the path follows. */
function readMount({ installation, params }: ReadyContext, missing: string): Result<Reply> {
  const path = normalizeMountPath(params.path ?? "");
  const mount = installation.mountAt(path);
  return mount ? injectedReply(MOUNT_VIEW.show(mount)) : refuse(missing + path);
}

async function showFixed({ clusterId }: Installation, path: string, { show }: typeof MOUNT_VIEW): Answered {
  const mount = (await fixedMounts(clusterId)).find(([at]) => at === path)?.[1];
  return mount ? injectedReply(show(mount)) : refuse(`No secret engine mount at ${path}`);
}

/** Returns the path with the mount's path as it is stored, without its trailing slash. */
function canonicalMountPath(path: string): string {
  return path.replace(/^(sys\/(?:auth|mounts(?:\/auth)?)\/)(.*)$/s, (_, place: string, below: string) => {
    const mount = normalizeMountPath(below.replace(TUNE_SUFFIX, ""));
    return place + (TUNE_SUFFIX.test(below) ? `${mount}tune` : mount.slice(0, -1));
  });
}

/** Reads the two paths, as they are stored: without `auth/`. */
function readPaths(from: string, to: string): Result<{ readonly from: string; readonly to: string }> {
  if (from === "" || to === "") return refuse("both 'from' and 'to' path must be specified as a string");
  for (const [name, path] of [["from", from] as const, ["to", to] as const]) {
    // Bounded here: to normalize many slashes in a row takes time with the square of the length.
    if (path.length > MAX_PATH_LENGTH) return refuse(`'${name}' path is too long`);
    if (path.trim() !== path) return refuse(`'${name}' path cannot contain trailing whitespace`);
  }
  const source = normalizeMountPath(from);
  const target = normalizeMountPath(to);
  if (!source.startsWith("auth/")) {
    const isFixed = ["cubbyhole/", "identity/", "sys/"].includes(source);
    return refuse(isFixed ? `cannot remount "${source}"` : `no matching mount at "${source}"`);
  }
  if (!target.startsWith("auth/")) return refuse(`cannot remount auth mount to non-auth mount "${target}"`);
  const paths = { from: normalizeMountPath(source.slice(5)), to: normalizeMountPath(target.slice(5)) };
  return okUnless(mountPathProblem(paths.to, []), paths);
}
