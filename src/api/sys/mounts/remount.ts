import { endRequestOf } from "../../../auth/caller.ts";
import { readRoute } from "../../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer, injectedAnswer } from "../../../auth/route-description.ts";
import { MAX_PATH_LENGTH } from "../../../base/limits.ts";
import { NOT_FOUND, ok, type Result, refuse } from "../../../base/result.ts";
import { walkOfMount } from "../../../lease/walk.ts";
import { stalenessWarnings } from "../../../system/copy-age.ts";
import { issuerOf, type MountMove } from "../../../system/mount.ts";
import { normalizeMountPath } from "../../../system/mount-rules.ts";
import { systemOf } from "../../../system/system.ts";
import { fieldSchema, text } from "../../../wire/fields.ts";
import { changedReply } from "../../changed-reply.ts";

const FIELDS = fieldSchema({
  from: text().describe("Where the mount is, with `auth/` before it"),
  to: text().describe("Where it shall be, with `auth/` before it"),
});

const MOVED = "The mount is at its new place, and nothing that it issued at the old one is accepted any more";

/** Mounts that can't move. */
const FIXED = ["cubbyhole/", "identity/", "sys/"];

/** Moving an auth mount to another place. */
export const REMOUNT_ROUTES: readonly Route[] = [
  simpleRoute("update", "sys/remount", {
    summary: "Moves an auth mount to another path.",
    operationId: "remount",
    answers: injectedAnswer({ migration_id: "string" }),
    input: FIELDS,
    handle: async ({ env, fields, caller, request }) => {
      const paths = readPaths(fields.from, fields.to);
      if (!paths.ok) return paths;
      const { from, to } = paths.value;
      const mount = await systemOf(env).findMount(from);
      if (!mount) return refuse(`no matching mount at "auth/${from}"`);
      const id = crypto.randomUUID();
      const ended = await walkOfMount(env, id).endTokens({
        mode: "revoke",
        prefix: `auth/${from}`,
        createdBefore: null,
        mount: { path: from, uuid: mount.uuid, type: mount.type, move: { id, to, issuer: issuerOf(mount) } },
        asked: endRequestOf(caller, request),
      });
      const warnings = [MOVED, ...stalenessWarnings(env)];
      return changedReply(env, ended, { kind: "data", data: { migration_id: id }, warnings, inject: true });
    },
  }),

  readRoute("sys/remount/status/:migration_id", {
    summary: "Tells how far the move of a mount is.",
    operationId: "remount-status",
    parameters: { migration_id: "The id that the move was answered with" },
    answers: dataAnswer({
      migration_id: "string",
      migration_info: { source_mount: "string", target_mount: "string", status: "string" },
    }),
    handle: async ({ env, params }) => {
      const move = (await systemOf(env).findMove(params.migration_id ?? ""))?.move;
      if (!move) return NOT_FOUND;
      // After this answer the mount is found at its new path.
      return changedReply(env, ok(move), {
        kind: "data",
        data: { migration_id: move.id, migration_info: infoOf(move) },
      });
    },
  }),
];

/** The two places below `auth/` as mounts are stored, or why there is nothing to move. */
function readPaths(from: string, to: string): Result<{ readonly from: string; readonly to: string }> {
  if (from === "" || to === "") return refuse("both 'from' and 'to' path must be specified as a string");
  for (const [name, path] of [["from", from] as const, ["to", to] as const]) {
    // A path of many slashes in a row takes time with the square of its length.
    if (path.length > MAX_PATH_LENGTH) return refuse(`'${name}' path is too long`);
    if (path.trim() !== path) return refuse(`'${name}' path cannot contain trailing whitespace`);
  }
  const source = normalizeMountPath(from);
  const target = normalizeMountPath(to);
  if (!source.startsWith("auth/")) {
    return refuse(FIXED.includes(source) ? `cannot remount "${source}"` : `no matching mount at "${source}"`);
  }
  if (!target.startsWith("auth/")) return refuse(`cannot remount auth mount to non-auth mount "${target}"`);
  return ok({ from: normalizeMountPath(source.slice(5)), to: normalizeMountPath(target.slice(5)) });
}

/** A move is one step, so one that is found is over. */
function infoOf({ from, to }: MountMove): Record<string, string> {
  return { source_mount: `auth/${from}`, target_mount: `auth/${to}`, status: "success" };
}
