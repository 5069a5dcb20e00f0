/** Characters that a shell reads inside double quotes, or that encodeURIComponent leaves as they are. */
const UNQUOTED = /[!'()*~]/g;

/**
 * A write as a command to be pasted, for what grove has no command of its own. It needs curl, and the settings of grove.
 *
 * @param path below `/v1/`. Names in it may be chosen by others: what a shell would read is encoded.
 * @param fields of the body.
 */
export function writeCommand(path: string, fields: Readonly<Record<string, string>> = {}): string {
  const below = path.split("/").map(encoded).join("/");
  const body = Object.keys(fields).length === 0 ? "" : ` -d '${JSON.stringify(fields).replaceAll("'", "\\u0027")}'`;
  return `curl -f -X POST -H "X-Vault-Token: $VAULT_TOKEN"${body} "$VAULT_ADDR/v1/${below}"`;
}

/** The deletion of a token of a team or an organization, by its id: clients of these send their token in another header. */
export function deleteTeamTokenCommand(id: string): string {
  return `curl -f -X DELETE -H "Authorization: Bearer $VAULT_TOKEN" "$VAULT_ADDR/api/v2/authentication-tokens/${encoded(id)}"`;
}

/** The same for a read, or for a list. */
export function readCommand(path: string, of: "record" | "list" = "record"): string {
  const below = path.split("/").map(encoded).join("/");
  return `curl -f -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR/v1/${below}${of === "list" ? "?list=true" : ""}"`;
}

const encoded = (segment: string): string =>
  encodeURIComponent(segment).replace(UNQUOTED, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
