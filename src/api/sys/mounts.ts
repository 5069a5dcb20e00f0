import * as z from "zod";
import { type CallContext, type Route, simpleRoute, withCanonicalPath } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { parseDuration } from "../../base/duration.ts";
import { type Failure, invalid } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { MAX_WAIT_MS, type WalkJob, walkOf } from "../../lease/walk.ts";
import { refreshInstallation } from "../../system/installation.ts";
import { DEFAULT_MOUNT_CONFIG, newMount } from "../../system/mount.ts";
import { configureMount, type MountChange, mountTypeProblem, normalizeMountPath } from "../../system/mount-rules.ts";
import { systemOf } from "../../system/system.ts";
import { commaList, flag, optionalText, text } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import { fixedMounts, fixedTuneObject, mountObject, tuneObject } from "./mount-view.ts";

/** Sent by clients with every mount; nothing here differs by them. */
const WITHOUT_EFFECT = {
  force_no_cache: z.unknown().optional(),
  options: z.unknown().optional(),
  plugin_name: z.unknown().optional(),
  plugin_version: z.unknown().optional(),
};

const SETTINGS = {
  default_lease_ttl: text(),
  max_lease_ttl: text(),
  token_type: optionalText(),
  listing_visibility: optionalText(),
  passthrough_request_headers: commaList(),
  allowed_response_headers: commaList(),
  audit_non_hmac_request_keys: commaList(),
  audit_non_hmac_response_keys: commaList(),
};

const CONFIG = z.object({ ...SETTINGS, ...WITHOUT_EFFECT });

const ENABLE = z.object({
  type: text(),
  description: text(),
  config: CONFIG.nullish(),
  local: flag(false),
  seal_wrap: z.unknown().optional(),
  external_entropy_access: z.unknown().optional(),
  ...WITHOUT_EFFECT,
});

const TUNE = z.object({
  description: optionalText(),
  ...SETTINGS,
  ...WITHOUT_EFFECT,
  user_lockout_config: z.unknown().optional(),
});

const NO_FIELDS = z.object({});
const TUNE_SUFFIX = /\/tune$/;

/** Auth mounts and their tuning, and what there is of other mounts. */
export const MOUNT_ROUTES: readonly Route[] = withCanonicalPath(canonicalMountPath, [
  simpleRoute("read", "sys/auth", TO_DESCRIBE, NO_FIELDS, async ({ installation }) => {
    const mounts = installation.mounts.map((mount) => [mount.path, mountObject(mount)] as const);
    return injected(Object.fromEntries(mounts));
  }),
  // Before the mounts themselves, whose paths can have several segments.
  ...tuneRoutes("sys/auth/:path{.+/tune}"),
  ...tuneRoutes("sys/mounts/auth/:path{.+/tune}"),
  simpleRoute("read", "sys/mounts/:path{.+/tune}", TO_DESCRIBE, NO_FIELDS, async ({ installation, params }) => {
    const path = tunedPath(params);
    const mount = (await fixedMounts(installation.clusterId))[path];
    return mount ? injected(fixedTuneObject(mount)) : err(noEngine(path));
  }),
  simpleRoute("read", "sys/auth/:path{.+}", TO_DESCRIBE, NO_FIELDS, async ({ installation, params }) => {
    const path = normalizeMountPath(params.path ?? "");
    const mount = installation.mountAt(path);
    return mount ? injected(mountObject(mount)) : err(noMount(path));
  }),
  simpleRoute("update", "sys/auth/:path{.+}", TO_DESCRIBE, ENABLE, enable),
  simpleRoute("delete", "sys/auth/:path{.+}", TO_DESCRIBE, NO_FIELDS, disable),

  simpleRoute("read", "sys/mounts", TO_DESCRIBE, NO_FIELDS, async ({ installation }) =>
    injected(await fixedMounts(installation.clusterId)),
  ),
  // Clients that manage mounts of every kind read an auth mount here too.
  simpleRoute("read", "sys/mounts/auth/:path{.+}", TO_DESCRIBE, NO_FIELDS, async ({ installation, params }) => {
    const path = normalizeMountPath(params.path ?? "");
    const mount = installation.mountAt(path);
    return mount ? injected(mountObject(mount)) : err(noEngine(`auth/${path}`));
  }),
  simpleRoute("read", "sys/mounts/:path{.+}", TO_DESCRIBE, NO_FIELDS, async ({ installation, params }) => {
    const path = normalizeMountPath(params.path ?? "");
    const mount = (await fixedMounts(installation.clusterId))[path];
    return mount ? injected(mount) : err(noEngine(path));
  }),
]);

/** The path with that of the mount as it is stored, without the slash at its end. */
function canonicalMountPath(path: string): string {
  return path.replace(/^(sys\/(?:auth|mounts(?:\/auth)?)\/)(.*)$/s, (_, place: string, below: string) => {
    const mount = normalizeMountPath(below.replace(TUNE_SUFFIX, ""));
    return place + (TUNE_SUFFIX.test(below) ? `${mount}tune` : mount.slice(0, -1));
  });
}

function tuneRoutes(path: string): Route[] {
  return [
    simpleRoute("read", path, TO_DESCRIBE, NO_FIELDS, async ({ installation, params }) => {
      const mountPath = tunedPath(params);
      const mount = installation.mountAt(mountPath);
      return mount ? injected(tuneObject(mount)) : err(noMount(mountPath));
    }),
    simpleRoute("update", path, TO_DESCRIBE, TUNE, async ({ env, params, fields }) => {
      const change = readChange(fields, fields.description);
      if (!change.ok) return change;
      const tuned = await systemOf(env).tuneMount(tunedPath(params), change.value);
      return tuned.ok ? done(env) : tuned;
    }),
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
  return enabled.ok ? done(env) : enabled;
}

/** The mount serves nothing from here on, and is gone when all that it issued is revoked. */
async function disable({
  env,
  params,
}: Pick<CallContext<object, null>, "env" | "params">): Promise<Result<Reply, Failure>> {
  const path = normalizeMountPath(params.path ?? "");
  if (path === "token/") return err(invalid("token credential backend cannot be disabled"));
  // A mount that is being disabled already is found too: the call waits for its end once more.
  const mount = await systemOf(env).findMount(path);
  if (!mount) return ok(EMPTY);
  if (mount.move && !mount.move.finished) return err(invalid(`the mount is moving to ${mount.move.to}`));
  const job: WalkJob = { mode: "revoke", prefix: `auth/${path}`, mount: { path, uuid: mount.uuid } };
  const { finished } = await walkOf(env, job).start(job, MAX_WAIT_MS);
  const refreshed = await refreshInstallation(env);
  if (!refreshed.ok) return refreshed;
  return ok(finished ? EMPTY : { kind: "accepted" });
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

async function done(env: Env): Promise<Result<Reply, Failure>> {
  const refreshed = await refreshInstallation(env);
  return refreshed.ok ? ok(EMPTY) : refreshed;
}
