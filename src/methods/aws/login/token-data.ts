import { err, ok } from "../../../base/result.ts";
import { fieldSchema, readValues, type Values } from "../../../wire/field-schema.ts";
import { exact, exactString } from "../../../wire/json-type-fields.ts";

const TEXT = exactString("is missing");

/**
 * Data of the login that a token keeps for its renewals. Clients can't read it. It is not in the metadata, as a mount
 * can be configured without metadata.
 */
const INSTANCE_DATA = fieldSchema({
  /** In lower case. */
  role: TEXT,
  instanceId: TEXT,
  region: TEXT,
  accountId: TEXT,
  /** 0 for no limit or no role tag. */
  tagMaxTtl: exact("integer", (value) =>
    typeof value === "string" && /^\d+$/.test(value) ? ok(Number(value)) : err("is not a number of seconds"),
  ),
});

const PRINCIPAL_DATA = fieldSchema({
  role: TEXT,
  /** The ARN without path and session. */
  canonicalArn: TEXT,
  uniqueId: TEXT,
  accountId: TEXT,
  /** "" when no instance was inferred; also the next field. */
  inferredInstanceId: TEXT,
  inferredRegion: TEXT,
});

export type InstanceData = Values<typeof INSTANCE_DATA> & { readonly kind: "vm" };
export type PrincipalData = Values<typeof PRINCIPAL_DATA> & { readonly kind: "iam" };

/** The data in the form of a token. */
export function writeTokenData(data: InstanceData | PrincipalData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)]));
}

/** Reads the data of a token of this method. @throws when they are malformed: a bug. */
export function readTokenData(internal: Readonly<Record<string, string>>): InstanceData | PrincipalData {
  const vm = internal.kind === "vm" ? readValues(INSTANCE_DATA, internal) : null;
  if (vm?.ok) return { kind: "vm", ...vm.value };
  const iam = internal.kind === "iam" ? readValues(PRINCIPAL_DATA, internal) : null;
  if (iam?.ok) return { kind: "iam", ...iam.value };
  throw new Error("a token of the cloud method has malformed data of its login");
}
