import { readRoute } from "../../../auth/record-routes.ts";
import { type ReadyContext, type Route, simpleRoute, withCanonicalPath, withParameters } from "../../../auth/route.ts";
import { DONE_OR_WARNED, injectedAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { err, type Failure, ok, type Result } from "../../../base/result.ts";
import type { Installation } from "../../../system/installation.ts";
import { normalizeMountPath } from "../../../system/mount-rules.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { injectedReply, type Reply } from "../../../wire/reply.ts";
import {
  disableMount,
  ENABLE_FIELDS,
  enableMount,
  noAuthMount,
  noEngine,
  TUNE_SUFFIX,
  tunedPath,
  tuneMountRoutes,
} from "./changes.ts";
import { fixedMounts, MOUNT_VIEW, shownMounts, TUNE_VIEW } from "./view.ts";

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
