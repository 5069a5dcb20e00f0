import { listRoute, removeRoute, showRoute } from "../auth/record-routes.ts";
import { type CallContext, mountOf, type Route, tokenRoute } from "../auth/route.ts";
import { DONE_OR_WARNED } from "../auth/route-description.ts";
import { nameKey } from "../base/case-folding.ts";
import { attempted, type CallAttempt, changedOnce } from "../base/lost-call-retry.ts";
import { ok, okUnless, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { WriteGrants } from "../policy/write-grants.ts";
import { type Mount, type MountTtl, mountTtl } from "../system/mount.ts";
import type { FieldSchema } from "../wire/field-schema.ts";
import { namedSegment } from "../wire/path-segment.ts";
import { warnedReply } from "../wire/reply.ts";
import type { View } from "../wire/view.ts";
import { isRoleName } from "./role-name.ts";

const ROLE_PATH = `role/${namedSegment("name")}`;

/** The part of the object of a mount that has its roles, by their names in lower case (`RoleMount`). */
interface RoleObject<Role, Fields> {
  readRole(name: string): Promise<Role | null>;
  writeRole(
    name: string,
    fields: Fields,
    grants: WriteGrants,
    mount: MountTtl,
    attempt?: CallAttempt,
  ): Promise<Result<readonly string[]>>;
  deleteRole(name: string, attempt?: CallAttempt): Promise<void>;
  listRoles(after: string, limit: number): Promise<string[]>;
}

interface MethodRoles<Role, Fields> {
  /** The word for a role in the names of operations, as the reference has it. */
  readonly noun: string;
  readonly fields: FieldSchema<Fields>;
  readonly view: View<Role>;
  /** Returns the problem with the fields, whatever is stored, or null. */
  readonly problem: (fields: Fields) => string | null;
  readonly objectAt: (env: Env, mount: Mount) => RoleObject<Role, Fields>;
}

/** The endpoints `role` and `role/:name` of a method. */
export function roleRoutes<Role, Fields>(method: MethodRoles<Role, Fields>): readonly Route[] {
  const { noun, fields: input, view, problem } = method;
  const objectOf = (context: CallContext) => method.objectAt(context.env, mountOf(context));
  return [
    listRoute("role", {
      summary: "Lists the roles.",
      operationId: `list-${noun}s`,
      names: (context, after, limit) => objectOf(context).listRoles(after, limit),
    }),
    showRoute(ROLE_PATH, {
      summary: "Shows a role.",
      operationId: `read-${noun}`,
      view,
      read: (context) => objectOf(context).readRole(nameOf(context)),
    }),
    tokenRoute("update", ROLE_PATH, {
      summary: "Creates or changes a role; fields that are not sent keep their values.",
      operationId: `write-${noun}`,
      answers: DONE_OR_WARNED,
      input,
      createsOrUpdates: true,
      prepare: async ({ params, fields }) => {
        const isLong = !isRoleName(nameOf({ params }));
        return okUnless(isLong ? "the name of the role is too long" : problem(fields), null);
      },
      handle: async (context) => {
        const { env, fields, verdict } = context;
        const ttl = mountTtl(mountOf(context));
        const write = (attempt?: CallAttempt) =>
          objectOf(context).writeRole(nameOf(context), fields, verdict, ttl, attempt);
        const warnings = await changedOnce(env, write);
        return warnings.ok ? ok(warnedReply(warnings.value)) : warnings;
      },
    }),
    removeRoute(ROLE_PATH, {
      summary: "Deletes a role.",
      operationId: `delete-${noun}`,
      remove: (context) => attempted(context.env, (attempt) => objectOf(context).deleteRole(nameOf(context), attempt)),
    }),
  ];
}

/** The path below a mount with the name of its role in lower case: a rule of a policy applies to every spelling. */
export function canonicalRolePath(path: string): string {
  return path.replace(/^role\/[^/]+$/, nameKey);
}

function nameOf({ params }: Pick<CallContext, "params">): string {
  return nameKey(params.name ?? "");
}
