import type { Part } from "../records/part.ts";
import { tokenFields } from "./pasted-login.ts";
import { LOGIN_CHECK, OPEN_BAO_ONLY, REFUSED_LOGINS, ROLE_LOSS, TOKENS } from "./role-fields.ts";

/** Fields without effect in roles of signed tokens. */
const OF_PEOPLE = ["role_type", "oidc"] as const;

/** Parts of the JWT method, for machines or for people. */
export const jwtParts = (usual: "jwt" | "oidc"): readonly Part[] => [
  {
    kind: "collection",
    part: "roles",
    title: "Roles",
    one: "role",
    itemPath: "role",
    empty:
      usual === "jwt"
        ? "A role says whose signed tokens are taken, and what the token for them may do."
        : "A role says who may sign in at the provider that Issuer names, and what their token may do.",
    loss: ROLE_LOSS,
    isRole: true,
    terraform: { type: "vault_jwt_auth_backend_role", mount: "backend", name: "role_name", lacks: OPEN_BAO_ONLY },
    groups: [
      {
        title: "Who may log in",
        fields: [
          {
            name: "role_type",
            label: "Type",
            kind: "choice",
            choices: usual === "jwt" ? ["jwt", "oidc"] : ["oidc", "jwt"],
            fixed: true,
            hint: "jwt: with a signed token. oidc: people, through a browser.",
          },
          { name: "user_claim", label: "Claim that names the holder", kind: "text", required: true },
          { name: "user_claim_json_pointer", label: "That is a JSON pointer", kind: "flag" },
          { name: "bound_audiences", label: "Audiences", kind: "names" },
          { name: "bound_subject", label: "Subject", kind: "text" },
          { name: "bound_claims", label: "Claims with their values", kind: "json" },
          { name: "bound_claims_type", label: "Values are", kind: "choice", choices: ["string", "glob"] },
          { name: "groups_claim", label: "Claim that lists groups", kind: "text" },
          { name: "claim_mappings", label: "Claims copied into metadata", kind: "pairs" },
          { name: "expiration_leeway", label: "May be late by", kind: "duration" },
          { name: "not_before_leeway", label: "May be early by", kind: "duration" },
          { name: "clock_skew_leeway", label: "Clocks may differ by", kind: "duration" },
        ],
      },
      {
        title: "Through a browser",
        fields: [
          {
            name: "allowed_redirect_uris",
            label: "Addresses to return to",
            kind: "names",
            hint: "Exactly. This console: https://ADDRESS/ui/vault/auth/PATH/oidc/callback. The port of http://localhost is free.",
            when: OF_PEOPLE,
          },
          { name: "oidc_scopes", label: "Scopes", kind: "names", hint: "Besides openid.", when: OF_PEOPLE },
          {
            name: "callback_mode",
            label: "The answer goes to",
            kind: "choice",
            choices: ["client", "device", "direct"],
            hint: "client: the program that logs in. device: a person consents on any device. direct: this server.",
            when: OF_PEOPLE,
          },
          {
            name: "poll_interval",
            label: "A waiting client asks every",
            kind: "number",
            hint: "Seconds.",
            when: OF_PEOPLE,
          },
          {
            name: "max_age",
            label: "Signed in at the provider within",
            kind: "duration",
            hint: "None: at any time.",
            when: OF_PEOPLE,
          },
        ],
      },
      TOKENS,
    ],
  },
  {
    ...LOGIN_CHECK,
    rolesPath: "role",
    roleIfEmpty: "Empty: the default role of the mount, if it has one.",
    label: "Token or claims",
    hint: "A signed token, or the claims of one as JSON: they are taken as said.",
    fieldsOf: tokenFields,
  },
  REFUSED_LOGINS,
  {
    kind: "settings",
    part: "trust",
    title: "Issuer",
    path: "config",
    isNeeded: true,
    replacedBut: ["status"],
    terraform: { type: "vault_jwt_auth_backend", mount: "path", lists: ["jwt_validation_pubkeys"] },
    groups: [
      {
        title: "Whose tokens are trusted: one of three ways to their keys",
        fields: [
          { name: "oidc_discovery_url", label: "Issuer, by discovery", kind: "text" },
          { name: "jwks_url", label: "Address of the keys", kind: "text" },
          {
            name: "jwt_validation_pubkeys",
            label: "Public keys",
            kind: "long text",
            hint: "In PEM, with commas between.",
          },
          { name: "bound_issuer", label: "Issuer that tokens must name", kind: "text" },
          { name: "jwt_supported_algs", label: "Algorithms", kind: "names", hint: "None: all that are known." },
          { name: "default_role", label: "Role of logins that name none", kind: "text" },
        ],
      },
      {
        title: "As a client of the provider, for logins through a browser",
        fields: [
          { name: "oidc_client_id", label: "Client", kind: "text" },
          {
            name: "oidc_client_secret",
            label: "Its secret",
            kind: "secret",
            hint: "Empty: it stays, for the same issuer and client.",
          },
          {
            name: "oidc_response_mode",
            label: "The provider answers by",
            kind: "choice",
            choices: ["query", "form_post"],
          },
          { name: "oidc_response_types", label: "With", kind: "names", hint: "code, the only one." },
          {
            name: "provider_config",
            label: "Of the provider",
            kind: "pairs",
            hint: "provider=azure asks Microsoft Graph for groups that a token leaves out.",
          },
        ],
      },
    ],
  },
];
