import { pathOf } from "../href.ts";
import type { Part } from "../records/part.ts";
import { secretIdFields } from "./pasted-login.ts";
import { LOGIN_CHECK, OPEN_BAO_ONLY, REFUSED_LOGINS, TOKENS } from "./role-fields.ts";

/** Parts of the approle method. The page of a role has its role-id and its secret-ids. */
export const APP_ROLE_PARTS: readonly Part[] = [
  {
    kind: "collection",
    part: "roles",
    title: "Roles",
    one: "role",
    itemPath: "role",
    empty: "A role says which secret-ids there may be, and what the token for one may do.",
    loss: "Its secret-ids end, and no login by it succeeds any more. Tokens that it gave stay until they end, unless they end with their secret-ids; they can be revoked from the list of tokens.",
    isRole: true,
    terraform: {
      type: "vault_approle_auth_backend_role",
      mount: "backend",
      name: "role_name",
      lacks: [...OPEN_BAO_ONLY, "token_ends_with_secret_id"],
    },
    groups: [
      {
        title: "Who may log in",
        fields: [
          { name: "role_id", label: "Role-id", kind: "text", isOnlyNew: true, hint: "Empty: a random one." },
          { name: "bind_secret_id", label: "With a secret-id alone", kind: "flag", usual: "true" },
          { name: "secret_id_bound_cidrs", label: "Networks", kind: "names", hint: "They may log in. None: all." },
          { name: "secret_id_num_uses", label: "Logins of a secret-id", kind: "number", hint: "None: no limit." },
          { name: "secret_id_ttl", label: "A secret-id is good for", kind: "duration", hint: "None: no expiry." },
          {
            name: "token_ends_with_secret_id",
            label: "A token ends with its secret-id",
            kind: "flag",
            hint: "When that expires or is destroyed; not with its last use.",
          },
        ],
      },
      TOKENS,
    ],
  },
  {
    ...LOGIN_CHECK,
    rolesPath: "role",
    roleIdAt: (role) => `role/${pathOf(role)}/role-id`,
    mayBeEmpty: true,
    label: "Accessor of a secret-id",
    hint: "The page of the role lists them. No use is counted. Empty: for a role that needs no secret-id.",
    fieldsOf: secretIdFields,
  },
  REFUSED_LOGINS,
];
