import * as z from "zod";
import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { err, ok } from "../../../base/result.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { cloudAuthOf } from "../mount.ts";
import { readTidyChange, renderTidy, TIDY_FIELDS, type TidyList } from "./tidy-settings.ts";

/** `config/tidy/...`, each list under its present and its deprecated name. */
export const TIDY_SETTINGS_ROUTES: readonly Route[] = [
  ...settingsRoutes("config/tidy/identity-accesslist", "access"),
  ...settingsRoutes("config/tidy/identity-whitelist", "access"),
  ...settingsRoutes("config/tidy/roletag-denylist", "deny"),
  ...settingsRoutes("config/tidy/roletag-blacklist", "deny"),
];

function settingsRoutes(path: string, list: TidyList): Route[] {
  return [
    simpleRoute("read", path, TO_DESCRIBE, z.object({}), async (context) => {
      const settings = await cloudAuthOf(context).readTidy(list);
      return settings ? ok(dataReply(renderTidy(settings))) : err({ code: "not_found" });
    }),

    tokenRoute("update", path, TO_DESCRIBE, TIDY_FIELDS, {
      createsOrUpdates: true,
      prepare: async ({ fields }) => readTidyChange(fields),
      async handle(context) {
        const written = await cloudAuthOf(context).writeTidy(list, context.prepared, context.verdict);
        return written.ok ? ok(EMPTY) : written;
      },
    }),

    simpleRoute("delete", path, TO_DESCRIBE, z.object({}), async (context) => {
      await cloudAuthOf(context).deleteTidy(list);
      return ok(EMPTY);
    }),
  ];
}
