/**
 * Paths that ask for the same thing, in every way that this server or the reference has for it. `*` stands for what
 * follows or stands between; a path with a slash at its end is one of a list, which is asked for with or without it.
 *
 * A rule for one spelling grants nothing at another, but its `deny` holds there: else a policy that denies `sys/policies/acl/x`
 * has left `sys/policy/x` open.
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
  // Of a mount of the cloud method, also below its `tidy/` and `config/tidy/`.
  ["auth/*/identity-accesslist/", "auth/*/identity-whitelist/"],
  ["auth/*/identity-accesslist/*", "auth/*/identity-whitelist/*"],
  ["auth/*/roletag-denylist/", "auth/*/roletag-blacklist/"],
  ["auth/*/roletag-denylist/*", "auth/*/roletag-blacklist/*"],
  ["auth/*/roles/", "auth/*/role/"],
];

/** Paths whose last part, what is asked about, can be in a field of the body instead. */
export const NAMED_IN_BODY: readonly { readonly path: string; readonly field: string }[] = [
  { path: "sys/leases/renew", field: "lease_id" },
  { path: "sys/leases/revoke", field: "lease_id" },
  { path: "auth/token/renew", field: "token" },
  { path: "auth/token/revoke-orphan", field: "token" },
];

/** Paths that do all that another one does, and more: what is denied there is denied here. */
export const WIDER: readonly { readonly path: string; readonly than: string }[] = [
  { path: "sys/leases/revoke-force/*", than: "sys/leases/revoke-prefix/*" },
  { path: "sys/policies/detailed/acl/", than: "sys/policies/acl/" },
  { path: "sys/policies/detailed/acl/*", than: "sys/policies/acl/*" },
];

/** A path to recognise, and what else to look at then: templates with what stood for `*` in their order. */
interface Rule {
  readonly pattern: RegExp;
  readonly others: readonly string[];
}

const RULES: readonly Rule[] = [
  ...WIDER.map(({ path, than }) => ({ pattern: patternOf(path), others: [than] })),
  ...SPELLINGS.flatMap((group) => group.map((path) => ({ pattern: patternOf(path), others: group }))),
];

/**
 * Every other path that asks for what a request asks for.
 *
 * @param path without the base path, in canonical form; of a list with a slash at its end.
 * @param data fields of the request.
 */
export function otherSpellings(path: string, data: Readonly<Record<string, unknown>>): readonly string[] {
  const found = new Set([path, ...inBody(path, data)]);
  // A set goes on to what is added meanwhile: a wider path has the spellings of the one that it contains.
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

/** Matches the paths of a template, with a group for each `*`. */
function patternOf(template: string): RegExp {
  const isList = template.endsWith("/");
  const text = isList ? template.slice(0, -1) : template;
  return new RegExp(`^${text.replaceAll("*", "(.+?)")}${isList ? "/?" : ""}$`, "s");
}

function filled(template: string, parts: readonly string[]): string {
  let at = 0;
  return template.replaceAll("*", () => parts[at++] ?? "");
}
