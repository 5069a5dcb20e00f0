import type { Env } from "../../env.ts";
import type { Mount } from "../../system/mount.ts";
import { mountOf } from "../method.ts";
import { showRoute } from "../record-routes.ts";
import type { Route } from "../route.ts";
import { REFUSALS_VIEW } from "./refusals.ts";
import { type RefusalStub, readRefusals } from "./report.ts";

/**
 * Defines `explain/refused` of an auth method: the recent refused logins of its mount.
 *
 * @param stubAt returns the object that stores them.
 * @param nameOf returns the name of a check in the vocabulary of the mount.
 */
export function refusedRoute(
  stubAt: (env: Env, mount: Mount) => RefusalStub,
  nameOf: (mount: Mount, check: string) => string = (_mount, check) => check,
): Route {
  return showRoute("explain/refused", {
    summary: "Shows the logins that were refused lately, by role and failing check.",
    operationId: "list-refused-logins",
    view: REFUSALS_VIEW,
    read: async (context) => {
      const mount = mountOf(context);
      const refusals = await readRefusals(mount, stubAt(context.env, mount));
      return { refusals, nameOf: (check) => nameOf(mount, check) };
    },
  });
}
