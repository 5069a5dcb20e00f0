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
  const body = Object.keys(fields).length === 0 ? "" : ` -d '${JSON.stringify(fields).replaceAll("'", "\\u0027")}'`;
  return `${WITH_TOKEN} -X POST${body} ${urlOf(path)}`;
}

/** A write whose body is read from a file, because it contains a secret. @param file name without special characters. */
export function writeFileCommand(path: string, file: string): string {
  return `${WITH_TOKEN} -X POST -d @${file} ${urlOf(path)}`;
}

/** A read or a list as a curl command. */
export function readCommand(path: string, of: "record" | "list" = "record"): string {
  return `${WITH_TOKEN} ${urlOf(path, of === "list" ? "?list=true" : "")}`;
}

/** The address of a path for a shell. */
const urlOf = (path: string, query = ""): string =>
  `"$VAULT_ADDR/v1/${path.split("/").map(encoded).join("/")}${query}"`;

const encoded = (segment: string): string =>
  encodeURIComponent(segment).replace(UNQUOTED, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
