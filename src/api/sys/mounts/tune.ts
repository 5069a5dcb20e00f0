import { endRequestOf } from "../../../auth/caller.ts";
import { readRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { DONE_OR_WARNED, injectedAnswer } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { err, ok } from "../../../base/result.ts";
import { walkOf } from "../../../lease/walk.ts";
import { normalizeMountPath } from "../../../system/mount-rules.ts";
import { systemOf } from "../../../system/system.ts";
import { pathScope } from "../../../system/watermarks.ts";
import { fieldSchema, optionalText, text, unread } from "../../../wire/fields.ts";
import { injectedReply } from "../../../wire/reply.ts";
import { changedReply, endedReply } from "../../changed-reply.ts";
import { notBefore, readNotBefore } from "../../not-before.ts";
import { noAuthMount } from "./failures.ts";
import { readSettings, SETTINGS, UNUSED_SETTINGS } from "./settings.ts";
import { TUNE_VIEW } from "./view.ts";

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
    readRoute(
      path,
      {
        summary: "Shows the tuning of an auth mount.",
        operationId: ids.read,
        answers: injectedAnswer({ ...TUNE_VIEW.shape, "not_before?": "string" }),
      },
      async ({ installation, params }) => {
        const mountPath = tunedPath(params);
        const mount = installation.mountAt(mountPath);
        if (!mount) return err(noAuthMount(mountPath));
        const time = notBefore(installation.watermarks, pathScope(`auth/${mountPath}`));
        return ok(injectedReply({ ...TUNE_VIEW.show(mount), ...(time !== null && { not_before: time }) }));
      },
    ),
    simpleRoute(
      "update",
      path,
      {
        summary: "Changes the tuning of an auth mount.",
        operationId: ids.write,
        answers: DONE_OR_WARNED,
      },
      TUNE_FIELDS,
      async ({ env, params, fields, verdict, caller, request }) => {
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
    ),
  ];
}

/** The path of the mount that is tuned, as it is stored. */
export function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}
