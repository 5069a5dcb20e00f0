import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, type Values } from "../../../wire/field-schema.ts";
import { list, onlySent, sent, text } from "../../../wire/fields.ts";
import { view } from "../../../wire/view.ts";
import { isPlainWord } from "../encoding.ts";

const IAM_ALIASES = ["role_id", "unique_id", "full_arn"] as const;
const VM_ALIASES = ["role_id", "instance_id", "image_id"] as const;

const DEFAULT_METADATA: readonly string[] = ["account_id", "auth_type"];
const IAM_METADATA: readonly string[] = [
  ...DEFAULT_METADATA,
  ...["canonical_arn", "client_arn", "client_user_id"],
  ...["inferred_cloud_region", "inferred_entity_id", "inferred_entity_type"],
];
const VM_METADATA: readonly string[] = [...DEFAULT_METADATA, "image_id", "instance_id", "region"];

/** Text values by name, in the inner vocabulary. */
export type CloudMetadata = Readonly<Record<string, string>>;

/** Which property is the alias of a login, and which properties are its metadata. */
export interface IdentityConfig {
  readonly iamAlias: (typeof IAM_ALIASES)[number];
  readonly vmAlias: (typeof VM_ALIASES)[number];
  /** null for the default, which a later release may change; also for `vmMetadata`. */
  readonly iamMetadata: readonly string[] | null;
  readonly vmMetadata: readonly string[] | null;
}

export const DEFAULT_IDENTITY: IdentityConfig = {
  iamAlias: "role_id",
  vmAlias: "role_id",
  iamMetadata: null,
  vmMetadata: null,
};

export const IDENTITY_FIELDS = fieldSchema({
  iam_alias: sent(text()).describe("The alias of principals: `role_id`, `unique_id` or `full_arn`"),
  vm_alias: sent(text()).describe("The alias of instances: `role_id`, `instance_id` or the image id"),
  iam_metadata: sent(list()).describe("Metadata of principals' tokens; `default`: the default list"),
  vm_metadata: sent(list()).describe("Metadata of instances' tokens; `default`: the default list"),
});

/** Checks a write of the identity configuration. Returns the changes, or a 400. */
export function readIdentityChange(fields: Values<typeof IDENTITY_FIELDS>): Result<Partial<IdentityConfig>> {
  const { iam_alias: iamAlias, vm_alias: vmAlias } = fields;
  const [iamMetadata, vmMetadata] = [namesOf(fields.iam_metadata), namesOf(fields.vm_metadata)];
  const problem =
    aliasProblem("iam_alias", iamAlias, IAM_ALIASES) ??
    aliasProblem("vm_alias", vmAlias, VM_ALIASES) ??
    metadataProblem("iam_metadata", iamMetadata, IAM_METADATA) ??
    metadataProblem("vm_metadata", vmMetadata, VM_METADATA);
  if (problem) return refuse(problem);
  return ok(
    onlySent({
      iamAlias: IAM_ALIASES.find((alias) => alias === iamAlias),
      vmAlias: VM_ALIASES.find((alias) => alias === vmAlias),
      iamMetadata: iamMetadata?.includes("default") ? null : iamMetadata,
      vmMetadata: vmMetadata?.includes("default") ? null : vmMetadata,
    }),
  );
}

function namesOf(items: readonly string[] | undefined): readonly string[] | undefined {
  return items && [...new Set(items.map((item) => item.toLowerCase()))].sort();
}

export const IDENTITY_VIEW = view<IdentityConfig>({
  iam_alias: ["string", (config) => config.iamAlias],
  iam_metadata: [["string"], (config) => metadataNames(config.iamMetadata)],
  vm_alias: ["string", (config) => config.vmAlias],
  vm_metadata: [["string"], (config) => metadataNames(config.vmMetadata)],
});

function metadataNames(configured: readonly string[] | null): readonly string[] {
  return configured ?? DEFAULT_METADATA;
}

function aliasProblem(field: string, value: string | undefined, allowed: readonly string[]): string | null {
  if (value === undefined || allowed.includes(value)) return null;
  const what = isPlainWord(value) ? `${field} of "${value}"` : field;
  return `${what} not in set of allowed values: [${allowed.join(" ")}]`;
}

function metadataProblem(field: string, names: readonly string[] = [], available: readonly string[]): string | null {
  const plain = names.length <= available.length + 1 && names.every(isPlainWord);
  if (names.includes("default")) {
    if (names.length === 1) return null;
    const what = plain ? `[${names.map((name) => `"${name}"`).join(" ")}]` : field;
    return `${what} contains default - default can't be used in combination with other fields`;
  }
  if (names.every((name) => available.includes(name))) return null;
  const what = plain ? `"${names.join(", ")}"` : field;
  return `${what} contains an unavailable field, please select from "${available.join(", ")}"`;
}

/** The metadata that the mount is configured for. Values that the login does not have are left out. */
export function chosenMetadata(configured: readonly string[] | null, available: CloudMetadata): CloudMetadata {
  const names = metadataNames(configured).filter((name) => (available[name] ?? "") !== "");
  return Object.fromEntries(names.map((name) => [name, available[name] ?? ""]));
}
