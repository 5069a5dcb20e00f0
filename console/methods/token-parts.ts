import type { Part } from "../records/part.ts";
import { LOCATION } from "./role-fields.ts";

/** Parts of the token method. */
export const TOKEN_PARTS: readonly Part[] = [
  {
    kind: "collection",
    part: "roles",
    title: "Roles",
    one: "role",
    itemPath: "roles",
    empty: "A role says which tokens may be made with it.",
    loss: "No more tokens are made by it. Those that it made stay until they end.",
    isRole: true,
    terraform: { type: "vault_token_auth_backend_role", name: "role_name", lacks: [LOCATION.name] },
    groups: [
      {
        title: "Policies that tokens may have",
        fields: [
          { name: "allowed_policies", label: "Allowed", kind: "names" },
          { name: "disallowed_policies", label: "Not allowed", kind: "names" },
          { name: "allowed_policies_glob", label: "Allowed, by pattern", kind: "names", hint: "* at either end." },
          {
            name: "disallowed_policies_glob",
            label: "Not allowed, by pattern",
            kind: "names",
            hint: "* at either end.",
          },
          { name: "allowed_entity_aliases", label: "Entity aliases", kind: "names", hint: "* at either end." },
          { name: "token_no_default_policy", label: "Without the policy default", kind: "flag" },
        ],
      },
      {
        title: "Tokens that it makes",
        fields: [
          { name: "token_explicit_max_ttl", label: "Live at most", kind: "duration" },
          {
            name: "token_period",
            label: "Period",
            kind: "duration",
            hint: "Set: the token lives as long as it is renewed.",
          },
          { name: "token_num_uses", label: "Uses", kind: "number", hint: "None: no limit." },
          {
            name: "token_type",
            label: "Type",
            kind: "choice",
            choices: ["default-service", "default-batch", "service", "batch"],
          },
          { name: "path_suffix", label: "End of their path", kind: "text" },
          { name: "token_bound_cidrs", label: "Networks", kind: "names", hint: "Tokens are used from there alone." },
          { name: "orphan", label: "Without a parent", kind: "flag" },
          { name: "renewable", label: "Renewable", kind: "flag", usual: "true" },
          LOCATION,
        ],
      },
    ],
  },
];
