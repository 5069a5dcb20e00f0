import { type Route, simpleRoute } from "../../auth/route.ts";
import { KEYS } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { listAccessors } from "../../listing/inventory/queries.ts";
import { publishRecent } from "../../listing/updates/publish.ts";
import { fieldSchema } from "../../wire/fields.ts";
import { PAGE } from "../../wire/page.ts";
import { dataReply } from "../../wire/reply.ts";
import { CREATE_ROUTES } from "./create.ts";
import { LOOKUP_ROUTES } from "./lookup.ts";
import { RENEW_ROUTES } from "./renew.ts";
import { REVOKE_ROUTES } from "./revoke.ts";
import { ROLE_ROUTES } from "./roles.ts";
import { TIDY_ROUTES } from "./tidy.ts";

/** Everything below `auth/token/`. */
export const TOKEN_ROUTES: readonly Route[] = [
  ...CREATE_ROUTES,
  ...LOOKUP_ROUTES,
  ...RENEW_ROUTES,
  ...REVOKE_ROUTES,
  ...ROLE_ROUTES,
  ...TIDY_ROUTES,
  simpleRoute("list", "accessors", {
    summary: "Lists the accessors of all tokens.",
    operationId: "list-accessors",
    answers: KEYS,
    input: fieldSchema(PAGE),
    handle: async ({ env, fields }) => {
      await publishRecent(env, currentTime());
      return dataReply({ keys: await listAccessors(env, fields.after, Math.max(0, fields.limit)) });
    },
  }),
];
