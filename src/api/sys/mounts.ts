import * as z from "zod";
import { type CallContext, type Route, simpleRoute, withCanonicalPath } from "../../auth/route.ts";
import { DONE_OR_WARNED, injectedAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { walkOf, walkOfMount } from "../../lease/walk.ts";
import type { EndJob } from "../../lease/walk-job.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "../../system/mount.ts";
import { configureMount, type MountChange, mountTypeProblem, normalizeMountPath } from "../../system/mount-rules.ts";
import { systemOf } from "../../system/system.ts";
import { pathScope } from "../../system/watermarks.ts";
import { commaList, flag, ofKind, optionalText, text, unread } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import { changedReply, endedReply } from "../changed-reply.ts";
import { notBefore, readNotBefore } from "../not-before.ts";
import { fixedMounts, fixedTuneObject, MOUNT_SHAPE, mountObject, TUNE_SHAPE, tuneObject } from "./mount-view.ts";

/** Sent by clients with every mount; nothing here differs by them. */
const WITHOUT_EFFECT = {
  force_no_cache: unread("boolean").describe("Without effect"),
  options: unread("object").describe("Without effect"),
  plugin_name: unread("string").describe("Without effect"),
  plugin_version: unread("string").describe("Without effect"),
};

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

const CONFIG = z.object({ ...SETTINGS, ...WITHOUT_EFFECT });

const ENABLE = z.object({
  type: text().describe("The type of the auth method"),
  description: text().describe("For people"),
  config: ofKind(CONFIG.nullish(), { shape: "object" }).describe("The tuning of the mount"),
  local: flag(false).describe("Kept and shown"),
  seal_wrap: unread("boolean").describe("Without effect"),
  external_entropy_access: unread("boolean").describe("Without effect"),
  ...WITHOUT_EFFECT,
});

const TUNE = z.object({
  description: optionalText().describe("For people"),
  ...SETTINGS,
  not_before: text().describe("`now` or a time: tokens that the mount gave before are not accepted any more"),
  ...WITHOUT_EFFECT,
  user_lockout_config: unread("object").describe("Without effect"),
});

const MOUNT = { path: "The path of the mount" };

const NO_FIELDS = z.object({});
const TUNE_SUFFIX = /\/tune$/;

/** Auth mounts and their tuning, and what there is of other mounts. */
export const MOUNT_ROUTES: readonly Route[] = withCanonicalPath(canonicalMountPath, [
  simpleRoute(
    "read",
    "sys/auth",
    {
      summary: "Lists the auth mounts.",
      operationId: "auth-list-enabled-methods",
      answers: injectedAnswer({ "*": MOUNT_SHAPE }),
    },
    NO_FIELDS,
    async ({ installation }) => {
      const mounts = installation.mounts.map((mount) => [mount.path, mountObject(mount)] as const);
      return injected(Object.fromEntries(mounts));
    },
  ),
  // Before the mounts themselves, whose paths can have several segments.
  ...tuneRoutes("sys/auth/:path{.+/tune}", {
    read: "auth-read-tuning-information",
    write: "auth-tune-configuration-parameters",
  }),
  ...tuneRoutes("sys/mounts/auth/:path{.+/tune}", {
    read: "mounts-read-auth-tuning-information",
    write: "mounts-tune-auth-configuration-parameters",
  }),
  simpleRoute(
    "read",
    "sys/mounts/:path{.+/tune}",
    {
      summary: "Shows the tuning of a mount that every installation has.",
      operationId: "mounts-read-tuning-information",
      parameters: MOUNT,
      answers: injectedAnswer(TUNE_SHAPE),
    },
    NO_FIELDS,
    async ({ installation, params }) => {
      const path = tunedPath(params);
      const mount = (await fixedMounts(installation.clusterId))[path];
      return mount ? injected(fixedTuneObject(mount)) : err(noEngine(path));
    },
  ),
  simpleRoute(
    "read",
    "sys/auth/:path{.+}",
    {
      summary: "Shows an auth mount.",
      operationId: "auth-read-configuration",
      parameters: MOUNT,
      answers: injectedAnswer(MOUNT_SHAPE),
    },
    NO_FIELDS,
    async ({ installation, params }) => {
      const path = normalizeMountPath(params.path ?? "");
      const mount = installation.mountAt(path);
      return mount ? injected(mountObject(mount)) : err(noMount(path));
    },
  ),
  simpleRoute(
    "update",
    "sys/auth/:path{.+}",
    {
      summary: "Enables an auth method at a path.",
      operationId: "auth-enable-method",
      parameters: MOUNT,
      answers: NO_CONTENT,
    },
    ENABLE,
    enable,
  ),
  simpleRoute(
    "delete",
    "sys/auth/:path{.+}",
    {
      summary: "Disables an auth mount: revokes all tokens that it gave, and deletes what it stored.",
      operationId: "auth-disable-method",
      parameters: MOUNT,
      answers: DONE_OR_WARNED,
    },
    NO_FIELDS,
    disable,
  ),

  simpleRoute(
    "read",
    "sys/mounts",
    {
      summary: "Lists the mounts that every installation has.",
      operationId: "mounts-list-secrets-engines",
      answers: injectedAnswer({ "*": MOUNT_SHAPE }),
    },
    NO_FIELDS,
    async ({ installation }) => injected(await fixedMounts(installation.clusterId)),
  ),
  // Clients that manage mounts of every kind read an auth mount here too.
  simpleRoute(
    "read",
    "sys/mounts/auth/:path{.+}",
    {
      summary: "Shows an auth mount, for clients that read mounts of every kind here.",
      operationId: "mounts-read-auth-configuration",
      parameters: MOUNT,
      answers: injectedAnswer(MOUNT_SHAPE),
    },
    NO_FIELDS,
    async ({ installation, params }) => {
      const path = normalizeMountPath(params.path ?? "");
      const mount = installation.mountAt(path);
      return mount ? injected(mountObject(mount)) : err(noEngine(`auth/${path}`));
    },
  ),
  simpleRoute(
    "read",
    "sys/mounts/:path{.+}",
    {
      summary: "Shows a mount that every installation has.",
      operationId: "mounts-read-configuration",
      parameters: MOUNT,
      answers: injectedAnswer(MOUNT_SHAPE),
    },
    NO_FIELDS,
    async ({ installation, params }) => {
      const path = normalizeMountPath(params.path ?? "");
      const mount = (await fixedMounts(installation.clusterId))[path];
      return mount ? injected(mount) : err(noEngine(path));
    },
  ),
]);

/** The path with that of the mount as it is stored, without the slash at its end. */
function canonicalMountPath(path: string): string {
  return path.replace(/^(sys\/(?:auth|mounts(?:\/auth)?)\/)(.*)$/s, (_, place: string, below: string) => {
    const mount = normalizeMountPath(below.replace(TUNE_SUFFIX, ""));
    return place + (TUNE_SUFFIX.test(below) ? `${mount}tune` : mount.slice(0, -1));
  });
}

function tuneRoutes(path: string, ids: Readonly<Record<"read" | "write", string>>): Route[] {
  return [
    simpleRoute(
      "read",
      path,
      {
        summary: "Shows the tuning of an auth mount.",
        operationId: ids.read,
        parameters: MOUNT,
        answers: injectedAnswer(TUNE_SHAPE),
      },
      NO_FIELDS,
      async ({ installation, params }) => {
        const mountPath = tunedPath(params);
        const mount = installation.mountAt(mountPath);
        if (!mount) return err(noMount(mountPath));
        const time = notBefore(installation.watermarks, pathScope(`auth/${mountPath}`));
        return injected({ ...tuneObject(mount), ...(time !== null && { not_before: time }) });
      },
    ),
    simpleRoute(
      "update",
      path,
      {
        summary: "Changes the tuning of an auth mount.",
        operationId: ids.write,
        parameters: MOUNT,
        answers: DONE_OR_WARNED,
      },
      TUNE,
      async ({ env, params, fields, verdict }) => {
        const change = readChange(fields, fields.description);
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
        const ended = await walkOf(env, job).endTokens({ ...job, createdBefore: createdBefore.value, mount: null });
        return ended.ok ? endedReply(env) : ended;
      },
    ),
  ];
}

async function enable({
  env,
  params,
  fields,
  methods,
}: Pick<CallContext<z.infer<typeof ENABLE>, null>, "env" | "params" | "fields" | "methods">): Promise<
  Result<Reply, Failure>
> {
  const problem = mountTypeProblem(fields.type, [...methods.keys()]);
  if (problem) return err(invalid(problem));
  const change = readChange(fields.config ?? CONFIG.parse({}), fields.description);
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

/** From the answer on the mount is gone, its place is free, and nothing that it issued is accepted. */
async function disable({
  env,
  params,
}: Pick<CallContext<object, null>, "env" | "params">): Promise<Result<Reply, Failure>> {
  const path = normalizeMountPath(params.path ?? "");
  if (path === "token/") return err(invalid("token credential backend cannot be disabled"));
  const mount = await systemOf(env).findMount(path);
  if (!mount) return ok(EMPTY);
  if (mount.move && !mount.move.finished) return err(invalid(`the mount is moving to ${mount.move.to}`));
  const { uuid, type } = mount;
  const job: EndJob = { mode: "revoke", prefix: `auth/${path}`, createdBefore: null, mount: { path, uuid, type } };
  const ended = await walkOfMount(env, uuid).endTokens(job);
  // Without a warning about other isolates: clients expect 204.
  return ended.ok ? changedReply(env) : ended;
}

function readChange(settings: z.infer<typeof CONFIG>, description: string | null): Result<MountChange, Failure> {
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

function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}

function noMount(path: string): Failure {
  return invalid(`No auth engine at ${path}`);
}

/** What `sys/mounts` says of a place without a mount; of an auth mount `path` begins with "auth/". */
function noEngine(path: string): Failure {
  return invalid(`No secret engine mount at ${path}`);
}

function injected(data: Record<string, unknown>): Result<Reply, never> {
  return ok({ kind: "data", data, inject: true });
}
