/**
 * The two vocabularies of this method. The code uses that of the mount type `cloud` (vm, image). A mount of the type
 * `aws` has the other in requests and answers (ec2, ami). These tables are the whole difference: paths, statuses and
 * all other names are the same, and both mount types accept both names of the server ID header.
 */

/** Names of fields, in requests and in answers. */
const FIELDS: Pairs = [
  ["bound_image_id", "bound_ami_id"],
  ["bound_vm_instance_id", "bound_ec2_instance_id"],
  ["cloud_public_cert", "aws_public_cert"],
  ["inferred_cloud_region", "inferred_aws_region"],
  ["resolve_cloud_unique_ids", "resolve_aws_unique_ids"],
  ["vm_alias", "ec2_alias"],
  ["vm_metadata", "ec2_metadata"],
];

/** Values of `KIND_FIELDS`, which name a kind of login or entity. */
const KINDS: Pairs = [
  ["vm", "ec2"],
  ["vm_instance", "ec2_instance"],
];
const KIND_FIELDS: ReadonlySet<string> = new Set(["auth_type", "inferred_entity_type"]);

/** Names of metadata: items of `METADATA_FIELDS`, and keys of a token's metadata. */
const METADATA: Pairs = [
  ["image_id", "ami_id"],
  ["inferred_cloud_region", "inferred_aws_region"],
];
const METADATA_FIELDS: ReadonlySet<string> = new Set(["iam_metadata", "vm_metadata", "ec2_metadata"]);

/** Phrases of messages. They are longer than a word where the word could also be part of a name. */
const PHRASES: Pairs = [
  ...FIELDS,
  ["image_id, instance_id", "ami_id, instance_id"],
  ["inferring vm_instance", "inferring ec2_instance"],
  ["both vm and iam", "both ec2 and iam"],
  ["vm auth_type", "ec2 auth_type"],
  ["vm auth", "ec2 auth"],
  ["auth method vm not", "auth method ec2 not"],
  // `vm` in a request to an `aws` mount was exchanged to `ec2`. The message shows what the client sent.
  ["auth_type: ec2", "auth_type: vm"],
  ["inferred_entity_type: ec2_instance", "inferred_entity_type: vm_instance"],
  ['image_id" contains', 'ami_id" contains'],
  ["image ID", "AMI ID"],
  ["VM instance", "EC2 instance"],
  ["VM key limit", "EC2 key limit"],
  ["X-Service-Cloud-IAM-Server-ID", "X-Vault-AWS-IAM-Server-ID"],
];

type Pairs = readonly (readonly [cloud: string, aws: string])[];
type Data = Readonly<Record<string, unknown>>;

const fieldNames = exchange(FIELDS);
const kinds = exchange(KINDS);
const metadataNames = exchange(METADATA);
const phrases = new Map<string, string>(PHRASES);
const anyPhrase = new RegExp(`\\b(?:${PHRASES.map(([cloud]) => cloud).join("|")})\\b`, "g");

/**
 * Translates the fields of a request to an `aws` mount. Names are exchanged in pairs, so a name of the other vocabulary
 * becomes unknown. Requests and answers use the same exchange.
 */
export function translateRequest(fields: Data): Record<string, unknown> {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, value]) => [fieldNames(name), translateValue(name, value)]));
}

/** Translates the data of an answer of an `aws` mount. Lists of metadata names stay sorted. */
export function translateAnswer(data: Data): Record<string, unknown> {
  const translated = translateRequest(data);
  for (const [name, value] of Object.entries(translated)) {
    if (METADATA_FIELDS.has(name) && Array.isArray(value)) value.sort();
  }
  return translated;
}

/** The name of a field in the vocabulary of mounts of the type `aws`; of another type: the name itself. */
export function translateFieldName(type: string, name: string): string {
  return type === "aws" ? fieldNames(name) : name;
}

/** `translateFieldName`, for a kind of login or entity. */
export function translateKind(type: string, kind: string): string {
  return type === "aws" ? kinds(kind) : kind;
}

/** `translateFieldName`, for the names in the metadata of a token or an alias, and the kinds among its values. */
export function translateMetadata(type: string, metadata: Record<string, string>): Record<string, string> {
  if (type !== "aws") return metadata;
  const words = (name: string, value: string) => (KIND_FIELDS.has(name) ? kinds(value) : value);
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [metadataNames(name), words(name, value)]));
}

/** `translateFieldName`, for the phrases in a message. */
export function translateMessage(type: string, message: string): string {
  return type === "aws" ? message.replace(anyPhrase, (phrase) => phrases.get(phrase) ?? phrase) : message;
}

function translateValue(name: string, value: unknown): unknown {
  if (KIND_FIELDS.has(name)) return typeof value === "string" ? kinds(value) : value;
  if (!METADATA_FIELDS.has(name)) return value;
  const translate = (item: unknown) => (typeof item === "string" ? metadataNames(item.trim()) : item);
  if (typeof value === "string") return value.split(",").map(translate).join(",");
  return Array.isArray(value) ? value.map(translate) : value;
}

function exchange(pairs: Pairs): (name: string) => string {
  const names = new Map(pairs.flatMap(([cloud, aws]) => [[cloud, aws] as const, [aws, cloud] as const]));
  return (name) => names.get(name) ?? name;
}
