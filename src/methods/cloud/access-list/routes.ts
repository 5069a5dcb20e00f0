import * as z from "zod";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, NO_CONTENT } from "../../../auth/route-description.ts";
import { err, ok } from "../../../base/result.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { namedSegment } from "../../path-name.ts";
import { listRoute } from "../list-route.ts";
import { cloudAuthOf } from "../mount.ts";
import { ENTRY_SHAPE, renderAccessEntry } from "./entry.ts";

const INSTANCE = { instance_id: "The id of the instance" };

/** The access list, under its present and its deprecated name. Only logins write it. */
export const ACCESS_LIST_ROUTES: readonly Route[] = [
  ...accessListRoutes("identity-accesslist", "identity-access-list"),
  ...accessListRoutes("identity-whitelist", "identity-whitelist"),
];

function accessListRoutes(path: string, name: string): Route[] {
  const entryPath = `${path}/${namedSegment("instance_id")}`;
  return [
    listRoute(
      path,
      { summary: "Lists the instances that logged in.", operationId: `list-${name}` },
      (auth, after, limit) => auth.listAccess(after, limit),
    ),

    simpleRoute(
      "read",
      entryPath,
      {
        summary: "Shows what is remembered of the logins of an instance.",
        operationId: `read-${name}`,
        parameters: INSTANCE,
        answers: dataAnswer(ENTRY_SHAPE),
      },
      z.object({}),
      async (context) => {
        const entry = await cloudAuthOf(context).readAccess(context.params.instance_id ?? "");
        return entry ? ok(dataReply(renderAccessEntry(entry))) : err({ code: "not_found" });
      },
    ),

    simpleRoute(
      "delete",
      entryPath,
      {
        summary: "Forgets the logins of an instance.",
        operationId: `delete-${name}`,
        parameters: INSTANCE,
        answers: NO_CONTENT,
      },
      z.object({}),
      async (context) => {
        await cloudAuthOf(context).deleteAccess(context.params.instance_id ?? "");
        return ok(EMPTY);
      },
    ),
  ];
}
