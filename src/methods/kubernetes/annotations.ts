import { MAX_META_LENGTH } from "../../base/limits.ts";
import { err, ok, type Result } from "../../base/result.ts";

/** Beginning of the annotations that become metadata of the alias: the reference's, so that clusters need no change. */
const PREFIX = "vault.hashicorp.com/alias-metadata-";
const MAX_ANNOTATIONS = 64;
const RESERVED: ReadonlySet<string> = new Set([
  "service_account_uid",
  "service_account_name",
  "service_account_namespace",
  "service_account_secret_name",
  "role",
]);

/**
 * Returns the metadata in the annotations of a service account. Every user who may edit a service account sets them, so
 * they can't have the names of what the API server has verified.
 */
export function aliasMetadataIn(
  annotations: Readonly<Record<string, unknown>>,
): Result<Readonly<Record<string, string>>, string> {
  const found = Object.entries(annotations).flatMap(([name, value]) =>
    name.startsWith(PREFIX) && typeof value === "string" ? [[name.slice(PREFIX.length), value] as const] : [],
  );
  if (found.some(([name]) => RESERVED.has(name))) return err("an annotation has the name of metadata of the method");
  const metadata = Object.fromEntries(found);
  const isLarge = found.length > MAX_ANNOTATIONS || JSON.stringify(metadata).length > MAX_META_LENGTH / 2;
  return isLarge ? err("the annotations are too many or too long") : ok(metadata);
}
