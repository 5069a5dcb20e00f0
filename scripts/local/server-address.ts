/**
 * The problem of the address of a server, without the address, which may contain a password. null: no problem.
 *
 * @param name where the address was given, such as VAULT_ADDR.
 */
export function addressProblem(name: string, address: string): string | null {
  const url = /^https?:\/\/[^\s/]/.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (url === null && !/^https?:/i.test(address)) return `${name} has to begin with https:// or http://`;
  if (url === null) return `${name} is no address such as https://grove.example`;
  if (url.username + url.password !== "") return `${name} has a name or password in it, which Grove does not take`;
  const [more = null] = /\/v1(?=\/*$)|\/ui(?=\/|$)/.exec(url.pathname) ?? [];
  if (more !== null) return `${name} is the address without ${more}`;
  // The path of a request is appended, and would become a part of the query or the fragment.
  return url.search + url.hash === "" ? null : `${name} is the address without ? and #`;
}
