/**
 * The problem of the address of a server, without the address, which may contain a password. null: no problem.
 *
 * @param name where the address was given, such as VAULT_ADDR.
 */
export function addressProblem(name: string, address: string): string | null {
  const url = /^https?:\/\/[^\s/]/.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (url === null) return `${name} is no address such as https://grove.example`;
  if (url.username + url.password !== "") return `${name} has a name or password in it, which Grove does not take`;
  return /\/v1\/*$/.test(url.pathname) ? `${name} is the address without /v1` : null;
}
