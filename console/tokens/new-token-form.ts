import { pathOf } from "../href.ts";
import type { FieldGroup, Mistake, RecordValue } from "../records/field.ts";
import type { FormRequest, TerraformResource } from "../records/request-commands.ts";
import { WRAP, wrappingGroup, wrappingOf } from "../records/wrapping.ts";

/** Suggested TTL. It is short, because some tokens are forgotten. */
const SUGGESTED_TTL = "1h";

/** The aliases that a role allows, with `*` at one end; empty when they can't be read. */
export type AllowedAliases = readonly string[];

const aliasHint = (aliases: AllowedAliases): string =>
  `The alias of an entity, which the token is of then. ${aliases.length > 0 ? `The role allows ${aliases.join(", ")}.` : "The role has to allow it."}`;

/**
 * The aliases that the form offers for a role; null when the role allows none. An undefined role could not be read, and
 * may allow some.
 */
export function aliasesOf(
  role: { readonly allowed_entity_aliases?: readonly string[] | null } | undefined,
): AllowedAliases | null {
  if (role === undefined) return [];
  const allowed = role.allowed_entity_aliases ?? [];
  return allowed.length === 0 ? null : allowed;
}

/**
 * The form of a new token.
 *
 * @param roles the roles to choose from; null when they are not known
 * @param rolesMissing why they are not known
 * @param isRoot whether the session's token is a root token
 * @param aliases the aliases that the chosen role allows; null for none
 */
export const newTokenForm = (
  roles: readonly string[] | null,
  rolesMissing: string,
  isRoot: boolean,
  aliases: AllowedAliases | null,
): readonly FieldGroup[] => [
  {
    title: "Token",
    fields: [
      { name: "display_name", label: "Name", kind: "text", hint: "Shown in lists and in the audit log." },
      {
        name: "role_name",
        label: "Role",
        ...(roles
          ? { kind: "choice", choices: ["", ...roles], emptyChoice: "none", hint: "Sets what its tokens may have." }
          : { kind: "text", hint: `${rolesMissing} You may still name one.` }),
      },
      ...(aliases === null
        ? []
        : [
            {
              name: "entity_alias",
              label: "Of whom",
              kind: "text",
              hint: aliasHint(aliases),
            } as const,
          ]),
      {
        name: "policies",
        label: "Policies",
        kind: "names",
        hint: isRoot
          ? "One a line, or with commas between. Your token is root: name what the new one may do. Empty: those of the role."
          : "One a line, or with commas between. Empty: those of your own token, or of the role.",
      },
      {
        name: "type",
        label: "Kind",
        kind: "choice",
        choices: ["", "service", "batch"],
        emptyChoice: "as the role or method says",
        hint: "Batch: stored nowhere, cheap, not renewable, and revoked only with its parent.",
      },
      { name: "meta", label: "Metadata", kind: "pairs", hint: "Lists find the token by it. name=value, one a line." },
    ],
  },
  {
    title: "How long it is valid",
    fields: [
      { name: "ttl", label: "Time to live", kind: "duration", suggested: SUGGESTED_TTL },
      {
        name: "explicit_max_ttl",
        label: "Longest life, renewals included",
        kind: "duration",
        hint: "Empty: as the role or the auth method says.",
      },
      { name: "num_uses", label: "Uses", kind: "number", hint: "Empty: no limit." },
      {
        name: "no_parent",
        label: "Without a parent",
        kind: "flag",
        hint: "It stays when your session ends. A sign-out revokes the token of the session, unless it was pasted.",
        when: ["role_name", ""],
      },
      { name: "renewable", label: "Renewable", kind: "flag", usual: "true" },
    ],
  },
  wrappingGroup(["", "5m", "1h", "1d"], "shown here"),
];

/** Why these values would make a root token without asking for the policy root; null when they do not. */
export const rootMistake = ({ policies, role_name: role }: RecordValue, isRoot: boolean): Mistake | null => {
  const isNamed = Array.isArray(policies) && policies.length > 0;
  if (!isRoot || isNamed || (role !== undefined && role !== "")) return null;
  const text =
    "Your token is root, and without policies the new one would be root too. Name its policies; for a root token write root.";
  return { field: "policies", text };
};

/** The request that creates the token. */
export function newTokenRequest(values: RecordValue): FormRequest {
  const { role_name: role = "", no_parent: isOrphan, [WRAP]: _, ...body } = values;
  const own = isOrphan === true ? "auth/token/create-orphan" : "auth/token/create";
  return {
    path: role === "" ? own : `auth/token/create/${pathOf(String(role))}`,
    body,
    ...wrappingOf(values),
  };
}

export const TERRAFORM_TOKEN: TerraformResource = {
  type: "vault_token",
  name: "display_name",
  renamed: { meta: "metadata", [WRAP]: "wrapping_ttl" },
  lacks: ["entity_alias"],
};
