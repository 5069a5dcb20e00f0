import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { injectedAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { changedOnce } from "../../../base/lost-call-retry.ts";
import { DENIED, err, ok, refuse } from "../../../base/result.ts";
import { mountChangeProblem } from "../../../system/mount.ts";
import { systemOf } from "../../../system/system.ts";
import { pathScope } from "../../../system/watermarks.ts";
import { fieldSchema } from "../../../wire/field-schema.ts";
import { sent, text, unread } from "../../../wire/fields.ts";
import { injectedReply } from "../../../wire/reply.ts";
import { changedReply, endedReply } from "../../change-reply.ts";
import { endBelow, notBefore, readPastTime } from "../../end-tokens.ts";
import { tunedPath } from "./canonical-path.ts";
import { readSettings, SETTINGS, UNUSED_SETTINGS } from "./settings.ts";
import { TUNE_VIEW } from "./view.ts";

export const TUNE_SHAPE = { ...TUNE_VIEW.shape, "not_before?": "string" } as const;

const TUNE_FIELDS = fieldSchema({
  description: sent(text()).describe("Description of the mount"),
  ...SETTINGS,
  not_before: text().describe("`now` or a time: tokens that the mount issued before are refused"),
  ...UNUSED_SETTINGS,
  user_lockout_config: unread("object").describe("Without effect"),
});

/** Defines the routes of the settings of an auth mount, at one of the two paths that clients use. */
export function tuneRoutes(path: string, readId: string, writeId: string): Route[] {
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
        const tuned = await changedOnce(env, (attempt) => systemOf(env).tuneMount(mountPath, change, attempt));
        if (!tuned.ok || !revokes) return changedReply(env, tuned);
        const job = { mode: "revoke", prefix: `auth/${mountPath}` } as const;
        return endedReply(env, await endBelow(context, job, createdBefore));
      },
    }),
  ];
}
