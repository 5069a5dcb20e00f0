import type { Part } from "../records/part.ts";
import { tokenFields } from "./pasted-login.ts";
import { LOGIN_CHECK, OPEN_BAO_ONLY, REFUSED_LOGINS, ROLE_LOSS, TOKENS } from "./role-fields.ts";

/** A signed token (JWS) of a service account. The API takes any text, and each login would fail then. */
export const REVIEWER_TOKEN = {
  pattern: /^(?=.{1,16384}$)[\w-]+\.[\w-]+\.[\w-]+$/,
  wrong: "It is no JWT: three parts with dots between, as kubectl create token prints it.",
} as const;

/** Parts of the kubernetes method. */
export const KUBERNETES_PARTS: readonly Part[] = [
  {
    kind: "collection",
    part: "roles",
    title: "Roles",
    one: "role",
    itemPath: "role",
    empty: "A role says which service accounts may log in, and what the token for them may do.",
    loss: ROLE_LOSS,
    isRole: true,
    terraform: {
      type: "vault_kubernetes_auth_backend_role",
      mount: "backend",
      name: "role_name",
      lacks: OPEN_BAO_ONLY,
    },
    groups: [
      {
        title: "Who may log in",
        fields: [
          {
            name: "bound_service_account_names",
            label: "Service accounts",
            kind: "names",
            required: true,
            hint: "* for any characters.",
          },
          {
            name: "bound_service_account_namespaces",
            label: "Namespaces",
            kind: "names",
            hint: "* for any characters.",
          },
          {
            name: "bound_service_account_namespace_selector",
            label: "Or namespaces with labels",
            kind: "text",
            hint: 'As JSON: {"matchLabels": {"team": "web"}}',
          },
          { name: "audience", label: "Audience", kind: "text", hint: "Empty: that of the API server." },
          {
            name: "alias_name_source",
            label: "Known by",
            kind: "choice",
            choices: ["serviceaccount_uid", "serviceaccount_name"],
          },
        ],
      },
      TOKENS,
    ],
  },
  {
    ...LOGIN_CHECK,
    rolesPath: "role",
    label: "Token",
    hint: "That of a service account: the API server reviews it.",
    fieldsOf: tokenFields,
  },
  REFUSED_LOGINS,
  {
    kind: "settings",
    part: "cluster",
    title: "Cluster",
    path: "config",
    isNeeded: true,
    replacedBut: ["token_reviewer_jwt_set"],
    terraform: { type: "vault_kubernetes_auth_backend_config", mount: "backend", lists: ["pem_keys"] },
    groups: [
      {
        title: "Whose service accounts log in",
        fields: [
          { name: "kubernetes_host", label: "API server", kind: "text", required: true },
          {
            name: "token_reviewer_jwt",
            label: "Token that asks for reviews",
            kind: "secret",
            form: REVIEWER_TOKEN,
            hint: "Empty: it stays, for the same API server. Without one each login asks with its own token, and no token is renewed.",
          },
          { name: "pem_keys", label: "Public keys", kind: "long text", hint: "In PEM, with commas between." },
          { name: "disable_iss_validation", label: "Any issuer", kind: "flag", usual: "true" },
          { name: "issuer", label: "Issuer that tokens must name", kind: "text" },
          {
            name: "use_annotations_as_alias_metadata",
            label: "Annotations become metadata of the alias",
            kind: "flag",
          },
        ],
      },
    ],
  },
];
