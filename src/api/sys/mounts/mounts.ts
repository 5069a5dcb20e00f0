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
import { injectedAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { changedOnce } from "../../../base/lost-call-retry.ts";
import { ok, type Result, refuse } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import { configureMount, DEFAULT_MOUNT_CONFIG, mountTypeProblem, newMount } from "../../../system/mount.ts";
import { mountPathProblem, normalizeMountPath } from "../../../system/mount-path.ts";
import { systemOf } from "../../../system/system.ts";
import { fieldSchema, objectOf } from "../../../wire/field-schema.ts";
import { flag, text, unread } from "../../../wire/fields.ts";
import { injectedReply, type Reply } from "../../../wire/reply.ts";
import { changedReply, endedReply } from "../../change-reply.ts";
import { endMount } from "../../end-tokens.ts";
import { canonicalMountPath, tunedPath } from "./canonical-path.ts";
import { MOUNT_CONFIG, readSettings, UNUSED_SETTINGS } from "./settings.ts";
import { TUNE_SHAPE, tuneRoutes } from "./tune.ts";
import { fixedMounts, MOUNT_VIEW, shownMounts, TUNE_VIEW } from "./view.ts";

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

/** Auth mounts with their settings, and the fixed mounts of every installation. */
export const MOUNT_ROUTES: readonly Route[] = withParameters(
  { path: "The path of the mount" },
  withPolicyPaths({ canonicalPath: canonicalMountPath }, [
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
      handle: async ({ env, prepared }) => {
        const mount = newMount(prepared);
        return changedReply(env, await changedOnce(env, (attempt) => systemOf(env).enableMount(mount, attempt)));
      },
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
);

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
