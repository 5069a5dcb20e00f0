import { err, ok } from "../../../base/result.ts";
import { exact, exactString } from "../../../wire/exact-fields.ts";
import { fieldSchema, readValues, type Values } from "../../../wire/fields.ts";

const TEXT = exactString("is missing");

/**
 * What a token keeps of its login for the check at renewals. Clients never see it; metadata would not do, since a mount
 * can be configured to show none.
 */
const INSTANCE_DATA = fieldSchema({
  /** In lower case. */
  role: TEXT,
  instanceId: TEXT,
  region: TEXT,
  accountId: TEXT,
  /** Seconds; 0: the role tag set no limit, or there was none. */
  tagMaxTtl: exact("integer", (value) =>
    typeof value === "string" && /^\d+$/.test(value) ? ok(Number(value)) : err("is not a number of seconds"),
  ),
});

const PRINCIPAL_DATA = fieldSchema({
  role: TEXT,
  /** ARN without path and session. */
  canonicalArn: TEXT,
  uniqueId: TEXT,
  accountId: TEXT,
  /** "" when no instance was inferred; so is the next. */
  inferredInstanceId: TEXT,
  inferredRegion: TEXT,
});

export type InstanceData = Values<typeof INSTANCE_DATA> & { readonly kind: "vm" };
export type PrincipalData = Values<typeof PRINCIPAL_DATA> & { readonly kind: "iam" };

/** The data as a token keeps them. */
export function writeTokenData(data: InstanceData | PrincipalData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, String(value)]));
}

/** The data of a token that this method issued. Anything else in it is a bug. */
export function readTokenData(internal: Readonly<Record<string, string>>): InstanceData | PrincipalData {
  if (internal.kind === "vm") {
    const read = readValues(INSTANCE_DATA, internal);
    if (read.ok) return { kind: "vm", ...read.value };
  }
  const read = readValues(PRINCIPAL_DATA, internal);
  if (read.ok && internal.kind === "iam") return { kind: "iam", ...read.value };
  throw new Error("a token of the cloud method has other data of its login");
}
