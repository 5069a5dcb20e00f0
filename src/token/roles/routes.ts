import * as z from "zod";
import { invalid } from "../../errors.ts";
import { PAGE } from "../../http/page.ts";
import { dataReply, EMPTY, keysReply } from "../../http/reply.ts";
import { type Route, simpleRoute, tokenRoute } from "../../http/route.ts";
import { err, ok } from "../../result.ts";
import { mountTtl } from "../../sys/mount.ts";
import { ROLE_FIELDS } from "./fields.ts";
import { renderRole } from "./render.ts";
import { tokenRoles } from "./token-roles.ts";

/** A role's name in a path: begins and ends with a letter, digit or `_`; inside also `-` and `.`. */
export const ROLE_NAME = ":role_name{\\w(?:[\\w.-]*\\w)?}";

/** `roles` and `roles/:role_name`. */
export const ROLE_ROUTES: readonly Route[] = [
  simpleRoute("list", "roles", z.object(PAGE), async ({ env, fields }) =>
    ok(keysReply(await tokenRoles(env).list(fields.after, fields.limit))),
  ),

  simpleRoute("read", `roles/${ROLE_NAME}`, z.object({}), async ({ env, params }) => {
    const role = await tokenRoles(env).read(params.role_name ?? "");
    return role ? ok(dataReply(renderRole(role))) : err({ code: "not_found" });
  }),

  tokenRoute("update", `roles/${ROLE_NAME}`, ROLE_FIELDS, {
    createsOrUpdates: true,
    async prepare({ request, fields }) {
      // Absent means "as before", so an explicit null must not pass for it where a type was meant to be chosen.
      if (request.data.token_type === null) return err(invalid("Invalid 'token_type' value: null"));
      const { role_name: _, ...sent } = fields;
      return ok(sent);
    },
    async handle({ env, installation, params, prepared, verdict }) {
      const grants = { create: verdict.create, update: verdict.update };
      const mount = mountTtl(installation.mountAt("token/"));
      const written = await tokenRoles(env).write(params.role_name ?? "", prepared, grants, mount);
      if (!written.ok) return written;
      return ok({ kind: "empty", warnings: written.value });
    },
  }),

  simpleRoute("delete", `roles/${ROLE_NAME}`, z.object({}), async ({ env, params }) => {
    await tokenRoles(env).delete(params.role_name ?? "");
    return ok(EMPTY);
  }),
];
