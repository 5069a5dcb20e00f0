import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { err, ok } from "../../../base/result.ts";
import { NO_FIELDS } from "../../../wire/fields.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { cloudAuthOf } from "../mount/mount.ts";
import { readTidyChange, renderTidy, TIDY_FIELDS, TIDY_SHAPE, type TidyList } from "../rules/tidy-settings.ts";

/** `config/tidy/...`, each list under its present and its deprecated name. */
export const TIDY_SETTINGS_ROUTES: readonly Route[] = [
  ...settingsRoutes("config/tidy/identity-accesslist", "identity-access-list", "access"),
  ...settingsRoutes("config/tidy/identity-whitelist", "identity-whitelist", "access"),
  ...settingsRoutes("config/tidy/roletag-denylist", "role-tag-deny-list", "deny"),
  ...settingsRoutes("config/tidy/roletag-blacklist", "role-tag-blacklist", "deny"),
];

function settingsRoutes(path: string, name: string, list: TidyList): Route[] {
  return [
    simpleRoute(
      "read",
      path,
      {
        summary: "Shows when ended entries of a list are removed.",
        operationId: `read-${name}-tidy-settings`,
        answers: dataAnswer(TIDY_SHAPE),
      },
      NO_FIELDS,
      async (context) => {
        const settings = await cloudAuthOf(context).readTidy(list);
        return settings ? ok(dataReply(renderTidy(settings))) : err({ code: "not_found" });
      },
    ),

    tokenRoute(
      "update",
      path,
      {
        summary: "Sets when ended entries of a list are removed.",
        operationId: `configure-${name}-tidy-operation`,
        answers: NO_CONTENT,
      },
      TIDY_FIELDS,
      {
        createsOrUpdates: true,
        prepare: async ({ fields }) => readTidyChange(fields),
        async handle(context) {
          const written = await cloudAuthOf(context).writeTidy(list, context.prepared, context.verdict);
          return written.ok ? ok(EMPTY) : written;
        },
      },
    ),

    simpleRoute(
      "delete",
      path,
      { summary: "Deletes what was set.", operationId: `delete-${name}-tidy-settings`, answers: NO_CONTENT },
      NO_FIELDS,
      async (context) => {
        await cloudAuthOf(context).deleteTidy(list);
        return ok(EMPTY);
      },
    ),
  ];
}
