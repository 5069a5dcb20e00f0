import { err, ok } from "../../src/base/result.ts";

/** The options that select events, with the fields of `sys/audit/events` that they are sent as. */
const FIELDS = {
  ...{ entity: "entity_id", role: "role", mount: "mount", request: "request_id", address: "address" },
  ...{ path: "path_prefix", kind: "kind", since: "since", until: "until" },
} as const;

type AuditValues = { readonly [Name in keyof typeof FIELDS | "limit"]?: string | undefined } & {
  readonly below?: boolean | undefined;
};

/** Reads what follows `audit`. `limit` is 0 for all events. */
export function readAudit(word: string | undefined, directory: string | undefined, values: AuditValues) {
  if (word === "archive" || word === "verify") {
    const [stray] = Object.keys(values);
    if (stray !== undefined) return err(`audit ${word} takes no --${stray}`);
    if (word === "verify") {
      return directory === undefined ? ok({ kind: "verify" } as const) : err("audit verify takes no word");
    }
    return directory === undefined
      ? err("audit archive needs a directory")
      : ok({ kind: "archive", directory } as const);
  }
  if (directory !== undefined) return err(`unexpected word "${directory}"`);
  const { below = false, limit = "100" } = values;
  if (below && word === undefined) return err("--below needs an accessor, or - for a token");
  if (values.role !== undefined && values.mount === undefined)
    return err("--role needs its --mount, such as auth/aws/");
  const fields: Record<string, string> = {};
  for (const [option, field] of Object.entries(FIELDS)) {
    const value = values[option as keyof typeof FIELDS];
    if (value !== undefined) fields[field] = value;
  }
  const hasText = word === "-";
  if (word !== undefined && !hasText) fields.accessor = word;
  if (below) fields.lineage = "true";
  return ok({ kind: "audit", hasText, fields, limit: Number(limit) } as const);
}
