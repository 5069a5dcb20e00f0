import * as z from "zod";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { BEGUN, ENVELOPE } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok } from "../../../base/result.ts";
import { sentDuration } from "../../../wire/fields.ts";
import { tidyReply } from "../../../wire/reply.ts";
import { DEFAULT_SAFETY_BUFFER, readSafetyBuffer, type TidyList } from "../config/tidy-settings.ts";
import { cloudAuthOf } from "../mount.ts";

const FIELDS = z.object({ safety_buffer: sentDuration().describe("How long an entry stays after its end") });

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
        return ok(tidyReply(await cloudAuthOf(context).startTidy(list, safetyBuffer, currentTime())));
      },
    },
  );
}
