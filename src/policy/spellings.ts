/**
 * Groups of paths of the same resource: all spellings that this server or the reference has for it. `*` stands for any
 * text. A path with a trailing slash is that of a list, which clients request with or without the slash.
 *
 * A rule for one spelling grants nothing at another one, but its `deny` applies there. Otherwise a policy that denies
 * `sys/policies/acl/x` would leave `sys/policy/x` open.
 */
export const SPELLINGS: readonly (readonly string[])[] = [
  ["sys/policies/acl/", "sys/policy/"],
  ["sys/policies/acl/*", "sys/policy/*"],
  ["sys/auth/*", "sys/mounts/auth/*"],
  ["sys/rotate", "sys/rotate/keyring"],
  ["sys/rotate/config", "sys/rotate/keyring/config"],
  ["sys/leases/renew", "sys/renew"],
  ["sys/leases/renew/*", "sys/renew/*"],
  ["sys/leases/revoke", "sys/revoke"],
  ["sys/leases/revoke/*", "sys/revoke/*"],
  ["sys/leases/revoke-prefix/*", "sys/revoke-prefix/*"],
  ["sys/leases/revoke-force/*", "sys/revoke-force/*"],
  ["teams/team-*/authentication-token", "authentication-tokens/team-*"],
  // Paths of a mount of the cloud method, also those below its `tidy/` and `config/tidy/`.
  ["auth/*/identity-accesslist/", "auth/*/identity-whitelist/"],
  ["auth/*/identity-accesslist/*", "auth/*/identity-whitelist/*"],
  ["auth/*/roletag-denylist/", "auth/*/roletag-blacklist/"],
  ["auth/*/roletag-denylist/*", "auth/*/roletag-blacklist/*"],
  ["auth/*/roles/", "auth/*/role/"],
];

/** Paths whose last part, which names the lease or token, can be in a field of the body instead. */
export const NAMED_IN_BODY: readonly { readonly path: string; readonly field: string }[] = [
  { path: "sys/leases/renew", field: "lease_id" },
  { path: "sys/leases/revoke", field: "lease_id" },
  { path: "auth/token/renew", field: "token" },
  { path: "auth/token/revoke-orphan", field: "token" },
];

/** Paths whose operation includes that of another path: a `deny` at `than` also applies to `path`. */
export const WIDER: readonly { readonly path: string; readonly than: string }[] = [
  { path: "sys/leases/revoke-force/*", than: "sys/leases/revoke-prefix/*" },
  { path: "sys/policies/detailed/acl/", than: "sys/policies/acl/" },
  { path: "sys/policies/detailed/acl/*", than: "sys/policies/acl/*" },
];

/** Patterns and the templates of the other paths to check when they match. Each `*` takes the next matched text. */
const RULES: readonly { readonly pattern: RegExp; readonly others: readonly string[] }[] = [
  ...WIDER.map(({ path, than }) => ({ pattern: patternOf(path), others: [than] })),
  ...SPELLINGS.flatMap((group) => group.map((path) => ({ pattern: patternOf(path), others: group }))),
];

/**
 * All other paths of the resource that a request with these fields names. `path` is without the base path, in canonical
 * form; that of a list has a trailing slash.
 */
export function otherSpellings(path: string, data: Readonly<Record<string, unknown>>): readonly string[] {
  const found = new Set([path, ...inBody(path, data)]);
  // The iteration of a set includes entries that are added meanwhile: a wider path also gets the spellings of the path
  // that it includes.
  for (const each of found) {
    for (const { pattern, others } of RULES) {
      const match = pattern.exec(each);
      if (match) for (const other of others) found.add(filled(other, match.slice(1)));
    }
  }
  found.delete(path);
  return [...found];
}

function inBody(path: string, data: Readonly<Record<string, unknown>>): string[] {
  for (const { path: bare, field } of NAMED_IN_BODY) {
    if (path !== bare && !path.startsWith(`${bare}/`)) continue;
    const named = data[field];
    return typeof named === "string" && named !== "" ? [bare, `${bare}/${named}`] : [bare];
  }
  return [];
}

/** A pattern that matches the paths of a template, with a capture group for each `*`. */
function patternOf(template: string): RegExp {
  const isList = template.endsWith("/");
  const text = isList ? template.slice(0, -1) : template;
  return new RegExp(`^${text.replaceAll("*", "(.+?)")}${isList ? "/?" : ""}$`, "s");
}

function filled(template: string, parts: readonly string[]): string {
  let at = 0;
  return template.replaceAll("*", () => parts[at++] ?? "");
}
