import { originOfCaller } from "../../auth/caller.ts";
import { listRoute, showRoute } from "../../auth/record-routes.ts";
import { type CallContext, mountOf, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { DONE_OR_WARNED, NO_CONTENT } from "../../auth/route-description.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { ok, okUnless, type Result, refuse } from "../../base/result.ts";
import { mountTtl } from "../../system/mount.ts";
import { type FieldSchema, fieldSchema } from "../../wire/field-schema.ts";
import { namedSegment } from "../../wire/path-segment.ts";
import { doneReply, warnedReply } from "../../wire/reply.ts";
import { type ViewFields, view } from "../../wire/view.ts";
import { isRoleName } from "../role-name.ts";
import type { AppRoleWrite } from "./app-role-auth.ts";
import { APP_ROLE_FIELDS, APP_ROLE_VIEW, type AppRole, type AppRoleFields, appRoleProblem } from "./role.ts";
import { appRoleAuthOf, changeRoles, roleNameOf } from "./role-copies.ts";

/** The path of a role below a mount. */
export const ROLE_PATH = `role/${namedSegment("role_name")}`;

const { shape: FIELDS } = APP_ROLE_FIELDS;

/** Fields that have endpoints of their own, and what a deletion sets them to. */
interface FieldEndpoints<F> {
  /** The last segment of their path, and the end of the ids of their operations. */
  readonly path: string;
  readonly what: string;
  readonly input: FieldSchema<F>;
  readonly shown: ViewFields<AppRole>;
  readonly reset: Partial<AppRoleFields>;
}

function writeRole(context: CallContext, write: AppRoleWrite): Promise<Result<readonly string[]>> {
  return changeRoles(context, (auth) =>
    changedOnce(context.env, (attempt) => auth.writeRole(roleNameOf(context), write, attempt)),
  );
}

function fieldRoutes<F extends Partial<AppRoleFields>>({
  path,
  what,
  input,
  shown,
  reset,
}: FieldEndpoints<F>): Route[] {
  const fullPath = `${ROLE_PATH}/${path}`;
  const [[name = ""] = []] = input.entries;
  const write = (context: Parameters<typeof changeRoles>[0], fields: Partial<AppRoleFields>) =>
    writeRole(context, {
      fields,
      mount: mountTtl(mountOf(context)),
      fresh: null,
      // The operation on this path is allowed already.
      grants: { create: true, update: true },
    });
  return [
    showRoute(fullPath, {
      summary: `Shows ${what} of a role.`,
      operationId: `read-${path}`,
      view: view(shown),
      read: (context) => appRoleAuthOf(context).readRole(roleNameOf(context)),
    }),
    tokenRoute("update", fullPath, {
      summary: `Sets ${what} of a role.`,
      operationId: `write-${path}`,
      answers: NO_CONTENT,
      input,
      prepare: async ({ fields }) => {
        if (Object.values(fields).every((value) => value === undefined)) return refuse(`missing ${name}`);
        return okUnless(appRoleProblem(fields), null);
      },
      handle: async (context) => {
        const written: Result<unknown> = await write(context, context.fields);
        return doneReply(written);
      },
    }),
    tokenRoute("delete", fullPath, {
      summary: `Resets ${what} of a role.`,
      operationId: `delete-${path}`,
      answers: NO_CONTENT,
      prepare: async () => ok(null),
      handle: async (context) => {
        const written: Result<unknown> = await write(context, reset);
        return !written.ok && written.error.code === "not_found" ? doneReply(ok(null)) : doneReply(written);
      },
    }),
  ];
}

const FIELD_ROUTES: readonly Route[] = [
  ...fieldRoutes({
    path: "policies",
    what: "the policies of tokens",
    input: fieldSchema({ token_policies: FIELDS.token_policies, policies: FIELDS.policies }),
    shown: {
      token_policies: [["string"], ({ token }) => token.policies],
      "policies?": [
        ["string"],
        ({ token }) => (token.shownByOldName.includes("policies") ? token.policies : undefined),
      ],
    },
    reset: { token_policies: [] },
  }),
  ...fieldRoutes({
    path: "bound-cidr-list",
    what: "the networks that may log in",
    input: fieldSchema({ bound_cidr_list: FIELDS.bound_cidr_list }),
    shown: { bound_cidr_list: [["string"], (role) => role.boundCidrs] },
    reset: { secret_id_bound_cidrs: [] },
  }),
  ...fieldRoutes({
    path: "secret-id-bound-cidrs",
    what: "the networks that may log in",
    input: fieldSchema({ secret_id_bound_cidrs: FIELDS.secret_id_bound_cidrs }),
    shown: { secret_id_bound_cidrs: [["string"], (role) => role.boundCidrs] },
    reset: { secret_id_bound_cidrs: [] },
  }),
  ...fieldRoutes({
    path: "token-bound-cidrs",
    what: "the networks that tokens are bound to",
    input: fieldSchema({ token_bound_cidrs: FIELDS.token_bound_cidrs }),
    shown: { token_bound_cidrs: [["string"], ({ token }) => token.boundCidrs] },
    reset: { token_bound_cidrs: [] },
  }),
  ...fieldRoutes({
    path: "bind-secret-id",
    what: "whether a login needs a secret-id",
    input: fieldSchema({ bind_secret_id: FIELDS.bind_secret_id }),
    shown: { bind_secret_id: ["boolean", (role) => role.bindSecretId] },
    reset: { bind_secret_id: true },
  }),
  ...fieldRoutes({
    path: "secret-id-num-uses",
    what: "the uses of secret-ids",
    input: fieldSchema({ secret_id_num_uses: FIELDS.secret_id_num_uses }),
    shown: { secret_id_num_uses: ["integer", (role) => role.secretIdNumUses] },
    reset: { secret_id_num_uses: 0 },
  }),
  ...fieldRoutes({
    path: "secret-id-ttl",
    what: "the lifetime of secret-ids",
    input: fieldSchema({ secret_id_ttl: FIELDS.secret_id_ttl }),
    shown: { secret_id_ttl: ["integer", (role) => role.secretIdTtl] },
    reset: { secret_id_ttl: 0 },
  }),
  ...fieldRoutes({
    path: "period",
    what: "the period of tokens",
    input: fieldSchema({ token_period: FIELDS.token_period, period: FIELDS.period }),
    shown: {
      token_period: ["integer", ({ token }) => token.period],
      "period?": ["integer", ({ token }) => (token.shownByOldName.includes("period") ? token.period : undefined)],
    },
    reset: { token_period: 0 },
  }),
  ...fieldRoutes({
    path: "token-num-uses",
    what: "the uses of tokens",
    input: fieldSchema({ token_num_uses: FIELDS.token_num_uses }),
    shown: { token_num_uses: ["integer", ({ token }) => token.numUses] },
    reset: { token_num_uses: 0 },
  }),
  ...fieldRoutes({
    path: "token-ttl",
    what: "the lifetime of tokens",
    input: fieldSchema({ token_ttl: FIELDS.token_ttl }),
    shown: { token_ttl: ["integer", ({ token }) => token.ttl] },
    reset: { token_ttl: 0 },
  }),
  ...fieldRoutes({
    path: "token-max-ttl",
    what: "the longest lifetime of tokens",
    input: fieldSchema({ token_max_ttl: FIELDS.token_max_ttl }),
    shown: { token_max_ttl: ["integer", ({ token }) => token.maxTtl] },
    reset: { token_max_ttl: 0 },
  }),
];

/** Endpoints of roles. */
export const APP_ROLE_ROUTES: readonly Route[] = [
  listRoute("role", {
    summary: "Lists the roles.",
    operationId: "list-roles",
    names: (context, after, limit) => appRoleAuthOf(context).listRoles(after, limit),
  }),
  showRoute(ROLE_PATH, {
    summary: "Shows a role.",
    operationId: "read-role",
    view: APP_ROLE_VIEW,
    read: (context) => appRoleAuthOf(context).readRole(roleNameOf(context)),
  }),
  tokenRoute("update", ROLE_PATH, {
    summary: "Creates or changes a role; fields that are not sent keep their values.",
    operationId: "write-role",
    answers: DONE_OR_WARNED,
    input: APP_ROLE_FIELDS,
    createsOrUpdates: true,
    prepare: async ({ params, fields }) => {
      const isLong = !isRoleName(roleNameOf({ params }));
      return okUnless(isLong ? "the name of the role is too long" : appRoleProblem(fields), null);
    },
    handle: async (context) => {
      const { fields, verdict } = context;
      const fresh = { id: crypto.randomUUID(), roleId: crypto.randomUUID() };
      const mount = mountTtl(mountOf(context));
      const written = await writeRole(context, { fields, mount, fresh, grants: verdict });
      return written.ok ? ok(warnedReply(written.value)) : written;
    },
  }),
  simpleRoute("delete", ROLE_PATH, {
    summary: "Deletes a role with its secret-ids.",
    operationId: "delete-role",
    answers: NO_CONTENT,
    handle: async (context) => {
      const asked = originOfCaller(context.caller, context.request);
      const { uuid } = mountOf(context);
      const deleted: Result<unknown> = await changeRoles(context, (auth) =>
        changedOnce(context.env, (attempt) => auth.deleteRole(roleNameOf(context), uuid, asked, attempt)),
      );
      return doneReply(deleted);
    },
  }),
  showRoute(`${ROLE_PATH}/local-secret-ids`, {
    summary: "Shows whether secret-ids are local, which has no effect.",
    operationId: "read-local-secret-ids",
    view: view<AppRole>({ local_secret_ids: ["boolean", (role) => role.localSecretIds] }),
    read: (context) => appRoleAuthOf(context).readRole(roleNameOf(context)),
  }),
  ...fieldRoutes({
    path: "role-id",
    what: "the role-id",
    input: fieldSchema({ role_id: FIELDS.role_id }),
    shown: { role_id: ["string", (role) => role.roleId] },
    reset: {},
  }).filter(({ operations }) => !operations.includes("delete")),
  ...FIELD_ROUTES,
];
