import * as z from "zod";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { currentTime } from "../../../base/clock.ts";
import { ok } from "../../../base/result.ts";
import { sentDuration } from "../../../wire/fields.ts";
import { tidyReply } from "../../../wire/reply.ts";
import { DEFAULT_SAFETY_BUFFER, readSafetyBuffer, type TidyList } from "../config/tidy-settings.ts";
import { cloudAuthOf } from "../mount.ts";

const FIELDS = z.object({ safety_buffer: sentDuration() });

/** `tidy/...`: removes ended entries now, whatever is configured for the periodic removal. */
export const TIDY_ROUTES: readonly Route[] = [
  tidyRoute("tidy/identity-accesslist", "access"),
  tidyRoute("tidy/identity-whitelist", "access"),
  tidyRoute("tidy/roletag-denylist", "deny"),
  tidyRoute("tidy/roletag-blacklist", "deny"),
];

function tidyRoute(path: string, list: TidyList): Route {
  return tokenRoute("update", path, TO_DESCRIBE, FIELDS, {
    prepare: async ({ fields }) => readSafetyBuffer(fields.safety_buffer),
    async handle(context) {
      const safetyBuffer = context.prepared ?? DEFAULT_SAFETY_BUFFER;
      return ok(tidyReply(await cloudAuthOf(context).startTidy(list, safetyBuffer, currentTime())));
    },
  });
}
