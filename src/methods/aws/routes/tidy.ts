import { mountOf } from "../../../auth/mount-of.ts";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { BEGUN, ENVELOPE } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok } from "../../../base/result.ts";
import type { Mount } from "../../../system/mount.ts";
import { fieldSchema, sentDuration } from "../../../wire/fields.ts";
import { tidyReply } from "../../../wire/reply.ts";
import type { AwsEnv } from "../env.ts";
import { accessShardsOf } from "../mount/access-shards.ts";
import { cloudAuthOf } from "../mount/mount.ts";
import { DEFAULT_SAFETY_BUFFER, readSafetyBuffer, type TidyList } from "../rules/tidy-settings.ts";

const FIELDS = fieldSchema({ safety_buffer: sentDuration().describe("How long an entry stays after its end") });

/** `tidy/...`: removes ended entries now, whatever is configured for the periodic removal. */
export const TIDY_ROUTES: readonly Route[] = [
  tidyRoute("tidy/identity-accesslist", "tidy-identity-access-list", "access"),
  tidyRoute("tidy/identity-whitelist", "tidy-identity-whitelist", "access"),
  tidyRoute("tidy/roletag-denylist", "tidy-role-tag-deny-list", "deny"),
  tidyRoute("tidy/roletag-blacklist", "tidy-role-tag-blacklist", "deny"),
];

function tidyRoute(path: string, operationId: string, list: TidyList): Route {
  return tokenRoute(
    "update",
    path,
    { summary: "Removes ended entries of a list now.", operationId, answers: [BEGUN, ENVELOPE] },
    FIELDS,
    {
      prepare: async ({ fields }) => readSafetyBuffer(fields.safety_buffer),
      async handle(context) {
        const safetyBuffer = context.prepared ?? DEFAULT_SAFETY_BUFFER;
        const started =
          list === "deny"
            ? await cloudAuthOf(context).startTidy(safetyBuffer, currentTime())
            : await startAccessTidy(context.env, mountOf(context), safetyBuffer);
        return ok(tidyReply(started));
      },
    },
  );
}

/** False when one of the shards has not ended yet what was begun before; the others begin. */
async function startAccessTidy(env: AwsEnv, mount: Mount, safetyBuffer: number): Promise<boolean> {
  const now = currentTime();
  const started = accessShardsOf(env, mount).map(({ list }) => list.startTidy(safetyBuffer, now));
  return (await Promise.all(started)).every((one) => one);
}
