/** Characters that a shell reads inside double quotes, or that encodeURIComponent leaves as they are. */
const UNQUOTED = /[!'()*~]/g;

/** The token is not an argument, which other users of the machine could see: printf is built into every shell. */
const WITH_TOKEN = `printf 'X-Vault-Token: %s' "$VAULT_TOKEN" | curl -sS --fail-with-body -H @-`;

/**
 * A write as a curl command to be pasted, where grove has no command for it. It uses the environment variables of grove.
 *
 * @param path below `/v1/`. Names in it may be chosen by others, so everything that a shell would interpret is encoded.
 * @param fields of the body.
 */
export function writeCommand(path: string, fields: Readonly<Record<string, string>> = {}): string {
  const below = path.split("/").map(encoded).join("/");
  const body = Object.keys(fields).length === 0 ? "" : ` -d '${JSON.stringify(fields).replaceAll("'", "\\u0027")}'`;
  return `${WITH_TOKEN} -X POST${body} "$VAULT_ADDR/v1/${below}"`;
}

/** The same with a body that a file has: it contains a secret. @param file its name, without special characters. */
export function writeFileCommand(path: string, file: string): string {
  const below = path.split("/").map(encoded).join("/");
  return `${WITH_TOKEN} -X POST -d @${file} "$VAULT_ADDR/v1/${below}"`;
}

/** A read or a list as a curl command. */
export function readCommand(path: string, of: "record" | "list" = "record"): string {
  const below = path.split("/").map(encoded).join("/");
  return `${WITH_TOKEN} "$VAULT_ADDR/v1/${below}${of === "list" ? "?list=true" : ""}"`;
}

const encoded = (segment: string): string =>
  encodeURIComponent(segment).replace(UNQUOTED, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
