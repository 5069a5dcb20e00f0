import { ok, type Result, refuse } from "../../../base/result.ts";
import { fieldSchema, list, onlySent, sent, text, type Values } from "../../../wire/fields.ts";
import { view } from "../../../wire/view.ts";
import { isPlainWord } from "../encoding.ts";

const IAM_ALIASES = ["role_id", "unique_id", "full_arn"] as const;
const VM_ALIASES = ["role_id", "instance_id", "image_id"] as const;
export type IamAlias = (typeof IAM_ALIASES)[number];
export type VmAlias = (typeof VM_ALIASES)[number];

/** Metadata without a configured choice. */
const DEFAULT_METADATA: readonly string[] = ["account_id", "auth_type"];
const IAM_METADATA: readonly string[] = [
  ...DEFAULT_METADATA,
  ...["canonical_arn", "client_arn", "client_user_id"],
  ...["inferred_cloud_region", "inferred_entity_id", "inferred_entity_type"],
];
const VM_METADATA: readonly string[] = [...DEFAULT_METADATA, "image_id", "instance_id", "region"];

/** Text values by name, in the inner vocabulary. */
export type Metadata = Readonly<Record<string, string>>;

/** Which property is the alias of a login, and which properties are its metadata. */
export interface IdentityConfig {
  readonly iamAlias: IamAlias;
  readonly vmAlias: VmAlias;
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
  iam_metadata: sent(list()).describe("Metadata of tokens of principals; `default` for the default list"),
  vm_metadata: sent(list()).describe("Metadata of tokens of instances; `default` for the default list"),
});

/** Checks a write of the identity configuration. Returns the changes, or a 400. */
export function readIdentityChange(fields: Values<typeof IDENTITY_FIELDS>): Result<Partial<IdentityConfig>> {
  const iamAlias = readAlias("iam_alias", fields.iam_alias, IAM_ALIASES);
  if (!iamAlias.ok) return iamAlias;
  const vmAlias = readAlias("vm_alias", fields.vm_alias, VM_ALIASES);
  if (!vmAlias.ok) return vmAlias;
  const iamMetadata = readMetadata("iam_metadata", fields.iam_metadata, IAM_METADATA);
  if (!iamMetadata.ok) return iamMetadata;
  const vmMetadata = readMetadata("vm_metadata", fields.vm_metadata, VM_METADATA);
  if (!vmMetadata.ok) return vmMetadata;
  return ok(
    onlySent({
      iamAlias: iamAlias.value,
      vmAlias: vmAlias.value,
      iamMetadata: iamMetadata.value,
      vmMetadata: vmMetadata.value,
    }),
  );
}

export const IDENTITY_VIEW = view<IdentityConfig>({
  iam_alias: ["string", (config) => config.iamAlias],
  iam_metadata: [["string"], (config) => metadataNames(config.iamMetadata)],
  vm_alias: ["string", (config) => config.vmAlias],
  vm_metadata: [["string"], (config) => metadataNames(config.vmMetadata)],
});

/** The names of a configured list; null means the default. */
export function metadataNames(configured: readonly string[] | null): readonly string[] {
  return configured ?? DEFAULT_METADATA;
}

function readAlias<T extends string>(
  field: string,
  value: string | undefined,
  allowed: readonly T[],
): Result<T | undefined> {
  if (value === undefined) return ok(undefined);
  const known = allowed.find((alias) => alias === value);
  if (known) return ok(known);
  const what = isPlainWord(value) ? `${field} of "${value}"` : field;
  return refuse(`${what} not in set of allowed values: [${allowed.join(" ")}]`);
}

/** undefined when not sent; null for `default`. */
function readMetadata(
  field: string,
  items: readonly string[] | undefined,
  available: readonly string[],
): Result<readonly string[] | null | undefined> {
  if (items === undefined) return ok(undefined);
  const names = [...new Set(items.map((item) => item.toLowerCase()))].sort();
  const plain = names.length <= available.length + 1 && names.every(isPlainWord);
  if (names.includes("default")) {
    if (names.length === 1) return ok(null);
    const what = plain ? `[${names.map((name) => `"${name}"`).join(" ")}]` : field;
    return refuse(`${what} contains default - default can't be used in combination with other fields`);
  }
  if (names.every((name) => available.includes(name))) return ok(names);
  const what = plain ? `"${names.join(", ")}"` : field;
  return refuse(`${what} contains an unavailable field, please select from "${available.join(", ")}"`);
}

/** The metadata that the mount is configured for. Values that the login does not have are left out. */
export function chosenMetadata(configured: readonly string[] | null, available: Metadata): Metadata {
  const names = metadataNames(configured).filter((name) => (available[name] ?? "") !== "");
  return Object.fromEntries(names.map((name) => [name, available[name] ?? ""]));
}
