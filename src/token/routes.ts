import * as z from "zod";
import { PAGE } from "../http/page.ts";
import { keysReply } from "../http/reply.ts";
import { type Route, simpleRoute } from "../http/route.ts";
import { ok } from "../result.ts";
import { listAccessors } from "./accessor-list.ts";
import { ROLE_ROUTES } from "./roles/routes.ts";
import { CREATE_ROUTES } from "./routes/create.ts";
import { LOOKUP_ROUTES } from "./routes/lookup.ts";
import { RENEW_ROUTES } from "./routes/renew.ts";
import { REVOKE_ROUTES } from "./routes/revoke.ts";
import { TIDY_ROUTES } from "./tidy/routes.ts";

/** Everything below `auth/token/`. */
export const TOKEN_ROUTES: readonly Route[] = [
  ...CREATE_ROUTES,
  ...LOOKUP_ROUTES,
  ...RENEW_ROUTES,
  ...REVOKE_ROUTES,
  ...ROLE_ROUTES,
  ...TIDY_ROUTES,
  simpleRoute("list", "accessors", z.object(PAGE), async ({ env, fields }) =>
    ok(keysReply(await listAccessors(env, fields.after, Math.max(0, fields.limit)))),
  ),
];
