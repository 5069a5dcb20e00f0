import { removeRoute, showRoute } from "../../../auth/record-routes.ts";
import { type Route, tokenRoute } from "../../../auth/route.ts";
import { NO_CONTENT } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { EMPTY } from "../../../wire/reply.ts";
import { cloudAuthOf } from "../mount/mount.ts";
import { readTidyChange, TIDY_FIELDS, TIDY_VIEW, type TidyList } from "../rules/tidy-settings.ts";

/** `config/tidy/...`, each list under its present and its deprecated name. */
export const TIDY_SETTINGS_ROUTES: readonly Route[] = [
  ...settingsRoutes("config/tidy/identity-accesslist", "identity-access-list", "access"),
  ...settingsRoutes("config/tidy/identity-whitelist", "identity-whitelist", "access"),
  ...settingsRoutes("config/tidy/roletag-denylist", "role-tag-deny-list", "deny"),
  ...settingsRoutes("config/tidy/roletag-blacklist", "role-tag-blacklist", "deny"),
];

function settingsRoutes(path: string, name: string, list: TidyList): Route[] {
  return [
    showRoute(
      path,
      {
        summary: "Shows when ended entries of a list are removed.",
        operationId: `read-${name}-tidy-settings`,
        view: TIDY_VIEW,
      },
      (context) => cloudAuthOf(context).readTidy(list),
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

    removeRoute(path, { summary: "Deletes what was set.", operationId: `delete-${name}-tidy-settings` }, (context) =>
      cloudAuthOf(context).deleteTidy(list),
    ),
  ];
}
