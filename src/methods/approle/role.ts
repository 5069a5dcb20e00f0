import {
  changeTokenSettings,
  DEFAULT_TOKEN_SETTINGS,
  TOKEN_FIELDS,
  TOKEN_SETTINGS,
  type TokenSettings,
  tokenFieldsProblem,
} from "../../auth/token-settings.ts";
import type { Seconds } from "../../base/clock.ts";
import { err, type Failure, ok, type Result, refuse } from "../../base/result.ts";
import type { MountTtl } from "../../system/mount.ts";
import { readCidrs } from "../../token/rules/bound-cidrs.ts";
import { readValues, roleSchema, type Values } from "../../wire/field-schema.ts";
import { deprecated, duration, flag, integer, list, sent, text } from "../../wire/fields.ts";
import { fieldsOf, view } from "../../wire/view.ts";

/** A role. */
export interface AppRole {
  /** Random: a role that is deleted and created again has another id, and none of the earlier secret-ids. */
  readonly id: string;
  /** The name by which clients log in. It is no secret. */
  readonly roleId: string;
  /** True: a login needs a secret-id. */
  readonly bindSecretId: boolean;
  /** Networks that may log in, as they were written; empty: all. */
  readonly boundCidrs: readonly string[];
  /** Number of logins with one secret-id; 0: no limit. */
  readonly secretIdNumUses: number;
  /** Lifetime of a secret-id; 0: no limit. */
  readonly secretIdTtl: Seconds;
  /** Without effect: nothing is replicated. */
  readonly localSecretIds: boolean;
  /** True: the token of a login ends with the secret-id that it was made with. Absent in roles of earlier releases. */
  readonly tokenEndsWithSecretId?: boolean;
  readonly token: TokenSettings;
}

/** The failed `Result` of a request below a role that is not stored. */
export const NO_ROLE = err<Failure>({ code: "not_found", message: "the role does not exist" });

/** The ids of a new role. */
export type NewRoleIds = Pick<AppRole, "id" | "roleId">;

export const APP_ROLE_FIELDS = roleSchema({
  role_id: sent(text()).describe("The id by which clients log in; random unless sent"),
  bind_secret_id: sent(flag(true)).describe("False: logins need no secret-id, and the role must be bound to networks"),
  secret_id_bound_cidrs: sent(list()).describe("Networks that may log in"),
  bound_cidr_list: deprecated(sent(list())).describe("Older name of `secret_id_bound_cidrs`"),
  secret_id_num_uses: sent(integer()).describe("Uses of a secret-id; 0: no limit"),
  secret_id_ttl: sent(duration()).describe("Lifetime of secret-ids; 0: for ever"),
  local_secret_ids: sent(flag(false)).describe("Without effect: kept and shown"),
  token_ends_with_secret_id: sent(flag(false)).describe("True: a token ends with its secret-id"),
  ...TOKEN_FIELDS,
});
export type AppRoleFields = Values<typeof APP_ROLE_FIELDS>;

/** Maximum length of a role-id. */
export const MAX_ROLE_ID = 512;
const NO_SECRET_ID = "token_ends_with_secret_id needs bind_secret_id";
const NO_BOUND = "at least one constraint should be enabled on the role";

/** Returns the problem with the fields of a write, whatever is stored, or null. See `changeAppRole`. */
export function appRoleProblem(sentFields: Partial<AppRoleFields>): string | null {
  const fields = withAbsent(sentFields);
  const { role_id: roleId } = fields;
  if (roleId === "") return "invalid role_id supplied, or failed to generate a role_id";
  if (roleId !== undefined && roleId.length > MAX_ROLE_ID) return `role_id is longer than ${MAX_ROLE_ID} characters`;
  if (roleId !== undefined && roleId.trim() !== roleId) return "role_id must not begin or end with white space";
  const cidrs = readCidrs(boundCidrsIn(fields) ?? [], "secret_id_bound_cidrs");
  if (!cidrs.ok) return cidrs.error;
  if ((fields.secret_id_num_uses ?? 0) < 0) return "secret_id_num_uses cannot be negative";
  if ((fields.secret_id_ttl ?? 0) < 0) return "secret_id_ttl cannot be negative";
  return tokenFieldsProblem(fields);
}

/**
 * Applies a write. Returns the role and warnings, or a 400. Messages are the reference's where it has them.
 *
 * @param fresh the ids of a role that does not exist yet.
 */
export function changeAppRole(
  before: AppRole | null,
  sentFields: Partial<AppRoleFields>,
  fresh: NewRoleIds,
  mount: MountTtl,
): Result<{ readonly role: AppRole; readonly warnings: readonly string[] }> {
  const fields = withAbsent(sentFields);
  const problem = appRoleProblem(fields);
  if (problem) return refuse(problem);
  const old = before ?? { ...NEW_ROLE, ...fresh };
  const localSecretIds = fields.local_secret_ids ?? old.localSecretIds;
  if (before && localSecretIds !== before.localSecretIds) {
    return refuse("local_secret_ids can only be modified during role creation");
  }
  const token = changeTokenSettings(old.token, fields, mount);
  if (!token.ok) return refuse(token.error);
  const role: AppRole = {
    id: old.id,
    roleId: fields.role_id ?? old.roleId,
    bindSecretId: fields.bind_secret_id ?? old.bindSecretId,
    boundCidrs: boundCidrsIn(fields) ?? old.boundCidrs,
    secretIdNumUses: fields.secret_id_num_uses ?? old.secretIdNumUses,
    secretIdTtl: fields.secret_id_ttl ?? old.secretIdTtl,
    localSecretIds,
    tokenEndsWithSecretId: fields.token_ends_with_secret_id ?? old.tokenEndsWithSecretId ?? false,
    token: token.value.settings,
  };
  if (role.tokenEndsWithSecretId && !role.bindSecretId) return refuse(NO_SECRET_ID);
  const isBound = role.bindSecretId || role.boundCidrs.length > 0 || role.token.boundCidrs.length > 0;
  return isBound ? ok({ role, warnings: token.value.warnings }) : refuse(NO_BOUND);
}

const NEW_ROLE: Omit<AppRole, keyof NewRoleIds> = {
  bindSecretId: true,
  boundCidrs: [],
  secretIdNumUses: 0,
  secretIdTtl: 0,
  localSecretIds: false,
  token: DEFAULT_TOKEN_SETTINGS,
};

const ABSENT = readValues(APP_ROLE_FIELDS, {});

function withAbsent(fields: Partial<AppRoleFields>): AppRoleFields {
  if (!ABSENT.ok) throw new Error("no field of a role is required");
  return { ...ABSENT.value, ...fields };
}

function boundCidrsIn(fields: AppRoleFields): readonly string[] | undefined {
  return fields.secret_id_bound_cidrs ?? fields.bound_cidr_list;
}

/** The fields of a read. */
export const APP_ROLE_VIEW = view<AppRole>({
  bind_secret_id: ["boolean", (role) => role.bindSecretId],
  local_secret_ids: ["boolean", (role) => role.localSecretIds],
  secret_id_bound_cidrs: [["string"], (role) => role.boundCidrs],
  secret_id_num_uses: ["integer", (role) => role.secretIdNumUses],
  secret_id_ttl: ["integer", (role) => role.secretIdTtl],
  token_ends_with_secret_id: ["boolean", (role) => role.tokenEndsWithSecretId ?? false],
  ...fieldsOf((role) => role.token, TOKEN_SETTINGS),
});
