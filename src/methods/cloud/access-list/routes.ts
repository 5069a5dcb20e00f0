import * as z from "zod";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { err, ok } from "../../../base/result.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { namedSegment } from "../../path-name.ts";
import { listRoute } from "../list-route.ts";
import { cloudAuthOf } from "../mount.ts";
import { renderAccessEntry } from "./entry.ts";

/** The access list, under its present and its deprecated name. Only logins write it. */
export const ACCESS_LIST_ROUTES: readonly Route[] = [
  ...accessListRoutes("identity-accesslist"),
  ...accessListRoutes("identity-whitelist"),
];

function accessListRoutes(path: string): Route[] {
  const entryPath = `${path}/${namedSegment("instance_id")}`;
  return [
    listRoute(path, (auth, after, limit) => auth.listAccess(after, limit)),

    simpleRoute("read", entryPath, TO_DESCRIBE, z.object({}), async (context) => {
      const entry = await cloudAuthOf(context).readAccess(context.params.instance_id ?? "");
      return entry ? ok(dataReply(renderAccessEntry(entry))) : err({ code: "not_found" });
    }),

    simpleRoute("delete", entryPath, TO_DESCRIBE, z.object({}), async (context) => {
      await cloudAuthOf(context).deleteAccess(context.params.instance_id ?? "");
      return ok(EMPTY);
    }),
  ];
}
