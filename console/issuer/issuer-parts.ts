import type { Part } from "../records/part.ts";

const ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"];

/** The configuration pages of the issuer of identity tokens (docs/issuer.md). */
export const ISSUER_PARTS: readonly Part[] = [
  {
    kind: "collection",
    part: "roles",
    title: "Roles",
    one: "role",
    itemPath: "role",
    empty: "A role says which key signs, what the token says about its holder, and for whom it is meant.",
    loss: "No more tokens are signed by it. Those that were are good until they end.",
    terraform: { type: "vault_identity_oidc_role", name: "name" },
    groups: [
      {
        title: "Tokens that it signs",
        fields: [
          { name: "key", label: "Signing key", kind: "text", required: true },
          { name: "client_id", label: "Audience", kind: "text", hint: "Empty: one is made." },
          { name: "ttl", label: "Good for", kind: "duration", hint: "They can't be revoked: keep it short." },
          {
            name: "template",
            label: "Claims to add",
            kind: "long text",
            hint: 'JSON with expressions, like {"name": {{identity.entity.name}}}.',
          },
        ],
      },
    ],
  },
  {
    kind: "collection",
    part: "keys",
    title: "Keys",
    one: "key",
    itemPath: "key",
    empty: "A key signs the tokens of roles. It is replaced by itself; its public part is published for who verifies.",
    loss: "Tokens that it signed can't be verified any more.",
    itemAction: {
      label: "Rotate…",
      path: "rotate",
      text: "A new key signs from now on. The old one stays published until the tokens that it signed have ended.",
    },
    terraform: { type: "vault_identity_oidc_key", name: "name" },
    groups: [
      {
        title: "Signing key",
        fields: [
          { name: "algorithm", label: "Algorithm", kind: "choice", choices: ALGORITHMS },
          { name: "rotation_period", label: "Signs for", kind: "duration" },
          { name: "verification_ttl", label: "Published after that for", kind: "duration" },
          { name: "allowed_client_ids", label: "Audiences", kind: "names", hint: "* for all." },
        ],
      },
    ],
  },
  {
    kind: "settings",
    part: "issuer",
    title: "Issuer",
    path: "config",
    terraform: { type: "vault_identity_oidc" },
    groups: [
      {
        title: "What tokens name as their issuer",
        fields: [
          {
            name: "issuer",
            label: "Address",
            kind: "text",
            hint: "Like https://grove.example.com. Empty: the address by which the service was called.",
          },
        ],
      },
    ],
  },
];
