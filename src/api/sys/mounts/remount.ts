import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer, injectedAnswer } from "../../../auth/route-description.ts";
import { MAX_PATH_LENGTH } from "../../../base/limits.ts";
import { NOT_FOUND, ok, okUnless, type Result, refuse } from "../../../base/result.ts";
import { mountIssuerOf } from "../../../system/mount.ts";
import { mountPathProblem, normalizeMountPath } from "../../../system/mount-path.ts";
import { systemOf } from "../../../system/system.ts";
import { fieldSchema } from "../../../wire/field-schema.ts";
import { text } from "../../../wire/fields.ts";
import { changedReply, endedReply } from "../../change-reply.ts";
import { endMount } from "../../end-tokens.ts";

const MOVED = "The mount is at its new path. Tokens that it issued at the old path are not accepted any more";

/** Moves of auth mounts to other paths. */
export const REMOUNT_ROUTES: readonly Route[] = [
  tokenRoute("update", "sys/remount", {
    summary: "Moves an auth mount to another path.",
    operationId: "remount",
    answers: injectedAnswer({ migration_id: "string" }),
    input: fieldSchema({
      from: text().describe("The path of the mount, with `auth/` before it"),
      to: text().describe("Its new path, with `auth/` before it"),
    }),
    prepare: async ({ fields }) => readPaths(fields.from, fields.to),
    handle: async (context) => {
      const { env, prepared } = context;
      const { from, to } = prepared;
      const mount = await systemOf(env).findMount(from);
      if (!mount) return refuse(`no matching mount at "auth/${from}"`);
      const { uuid, type } = mount;
      const id = crypto.randomUUID();
      const ended = await endMount(context, id, {
        path: from,
        uuid,
        type,
        move: { id, to, issuer: mountIssuerOf(mount) },
      });
      return endedReply(env, ended, { kind: "data", data: { migration_id: id }, warnings: [MOVED], inject: true });
    },
  }),

  simpleRoute("read", "sys/remount/status/:migration_id", {
    summary: "Shows the state of a move of a mount.",
    operationId: "remount-status",
    parameters: { migration_id: "The id in the answer to the move" },
    answers: dataAnswer({
      migration_id: "string",
      migration_info: { source_mount: "string", target_mount: "string", status: "string" },
    }),
    handle: async ({ env, params }) => {
      const move = (await systemOf(env).findMove(params.migration_id ?? ""))?.move;
      if (!move) return NOT_FOUND;
      // A move is one step, so a move that is found has succeeded.
      const info = { source_mount: `auth/${move.from}`, target_mount: `auth/${move.to}`, status: "success" };
      // This reads the installation again, so that this isolate finds the mount at its new path.
      return changedReply(env, ok(move), { kind: "data", data: { migration_id: move.id, migration_info: info } });
    },
  }),
];

/** Reads the two paths, as they are stored: without `auth/`. */
function readPaths(from: string, to: string): Result<{ readonly from: string; readonly to: string }> {
  if (from === "" || to === "") return refuse("both 'from' and 'to' path must be specified as a string");
  for (const [name, path] of [["from", from] as const, ["to", to] as const]) {
    // Bounded here: to normalize many slashes in a row takes time with the square of the length.
    if (path.length > MAX_PATH_LENGTH) return refuse(`'${name}' path is too long`);
    if (path.trim() !== path) return refuse(`'${name}' path cannot contain trailing whitespace`);
  }
  const source = normalizeMountPath(from);
  const target = normalizeMountPath(to);
  if (!source.startsWith("auth/")) {
    const isFixed = ["cubbyhole/", "identity/", "sys/"].includes(source);
    return refuse(isFixed ? `cannot remount "${source}"` : `no matching mount at "${source}"`);
  }
  if (!target.startsWith("auth/")) return refuse(`cannot remount auth mount to non-auth mount "${target}"`);
  const paths = { from: normalizeMountPath(source.slice(5)), to: normalizeMountPath(target.slice(5)) };
  return okUnless(mountPathProblem(paths.to, []), paths);
}
