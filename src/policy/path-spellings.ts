import { fromBase64, fromUtf8, toBase64 } from "../crypto/bytes.ts";
import type { SourcedRule } from "./merged-rules.ts";
import { parsePattern } from "./pattern.ts";
import { normalizePolicyName } from "./policy-names.ts";

/** One resource, or all resources of a form, and every path that asks for it here or in the reference. */
interface Resource {
  /**
   * The current path, then older ones. `{mount}` stands for the path of the auth mount that serves the request, `*` for
   * the same text in each. A path with a trailing slash is that of a list, which clients request with or without it.
   */
  readonly paths: readonly string[];
  /** Returns the texts that are equivalent to the text at `*`, the canonical one first: two at most. */
  readonly texts?: (text: string) => readonly string[];
  /** True when the text at `*` is a case-insensitive name. */
  readonly anyCase?: true;
  /** The field of the body that can have the text as well. The path can lack its last part, `/*`, then. */
  readonly field?: string;
  /** First path of another resource with the same text at `*`. A request here does what a request there does, and more. */
  readonly includes?: string;
}

/**
 * The paths under which one resource is served. A `deny` of one of them holds for all, and for the resources that include
 * it. Otherwise a policy that denies `sys/policies/acl/x` would leave `sys/policy/x` open. A grant holds only for the
 * path that it names.
 */
export const RESOURCES: readonly Resource[] = [
  { paths: ["sys/policies/acl/", "sys/policy/"] },
  { paths: ["sys/policies/acl/*", "sys/policy/*"], texts: policyNames, anyCase: true },
  { paths: ["sys/policies/detailed/acl/"], includes: "sys/policies/acl/" },
  { paths: ["sys/policies/detailed/acl/*"], texts: policyNames, anyCase: true, includes: "sys/policies/acl/*" },
  { paths: ["sys/policies/usage/acl/*"], texts: policyNames, anyCase: true },
  { paths: ["sys/policies/versions/acl/*"], texts: policyNames, anyCase: true, includes: "sys/policies/acl/*" },
  { paths: ["sys/auth/*", "sys/mounts/auth/*"], texts: mountPaths },
  { paths: ["sys/rotate/keyring", "sys/rotate"] },
  { paths: ["sys/rotate/keyring/config", "sys/rotate/config"] },
  { paths: ["sys/leases/renew/*", "sys/renew/*"], field: "lease_id" },
  { paths: ["sys/leases/revoke/*", "sys/revoke/*"], field: "lease_id" },
  { paths: ["sys/leases/revoke-prefix/*", "sys/revoke-prefix/*"] },
  { paths: ["sys/leases/revoke-force/*", "sys/revoke-force/*"], includes: "sys/leases/revoke-prefix/*" },
  { paths: ["auth/token/renew/*"], texts: tokens, field: "token" },
  { paths: ["auth/token/revoke-orphan/*"], texts: tokens, field: "token" },
  { paths: ["identity/entity/name/*"], anyCase: true },
  { paths: ["identity/group/name/*"], anyCase: true },
  { paths: ["teams/team-*/authentication-token", "authentication-tokens/team-*"] },
  { paths: ["{mount}roles/", "{mount}role/"] },
  { paths: ["{mount}role/*/secret-id-bound-cidrs", "{mount}role/*/bound-cidr-list"], anyCase: true },
  { paths: ["{mount}role/*"], anyCase: true },
  { paths: ["{mount}identity-accesslist/", "{mount}identity-whitelist/"] },
  { paths: ["{mount}identity-accesslist/*", "{mount}identity-whitelist/*"] },
  { paths: ["{mount}tidy/identity-accesslist/", "{mount}tidy/identity-whitelist/"] },
  { paths: ["{mount}config/tidy/identity-accesslist/", "{mount}config/tidy/identity-whitelist/"] },
  { paths: ["{mount}roletag-denylist/", "{mount}roletag-blacklist/"] },
  { paths: ["{mount}roletag-denylist/*", "{mount}roletag-blacklist/*"], texts: roleTags },
  { paths: ["{mount}tidy/roletag-denylist/", "{mount}tidy/roletag-blacklist/"] },
  { paths: ["{mount}config/tidy/roletag-denylist/", "{mount}config/tidy/roletag-blacklist/"] },
];

function policyNames(name: string): string[] {
  return [normalizePolicyName(name)];
}

/** Mount paths have no empty segments, so repeated slashes are ignored. */
function mountPaths(path: string): string[] {
  return [
    path
      .trim()
      .replace(/\/+/g, "/")
      .replace(/^\/|\/$/g, "") || path,
  ];
}

function tokens(text: string): string[] {
  return [text.trim()];
}

/** A role tag is plain or in base64. A plain one has colons, so it is never base64. */
function roleTags(tag: string): string[] {
  const bytes = fromBase64(tag);
  const plain = (bytes && fromUtf8(bytes)) ?? tag;
  return [plain, toBase64(new TextEncoder().encode(plain))];
}

/** One path of a resource. */
export interface Spelling {
  readonly path: string;
  /** The number of segments before a case-insensitive name; `NO_NAME` when the path has none. */
  readonly nameAt: number;
}

/** More segments than a path can have. */
export const NO_NAME = Number.POSITIVE_INFINITY;

/** The properties of a request that say for which resource it asks. */
export interface RequestedResource {
  /** Without the base path; that of a list has a trailing slash. */
  readonly path: string;
  /** The path of the auth mount that serves the request, with a slash at the end (`auth/…/`); absent: none. */
  readonly mount?: string | undefined;
  /** The fields of the body. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * All paths of the requested resource and of the resource that it includes, six at most. All paths of a resource give
 * the same result. A path that is in no resource of the table gives only itself.
 */
export function spellingsOf({ path: asked, mount, data = {} }: RequestedResource): readonly Spelling[] {
  const path = asked.replace(/^\/+/, "");
  const found = placeOf(path, mount);
  if (!found) return [{ path, nameAt: NO_NAME }];
  const { resource, text, base } = found;
  const named = resource.field === undefined ? undefined : data[resource.field];
  const given = new Set(typeof named === "string" ? [text, named] : [text]);
  return [resource, ...(INCLUDED.get(resource) ?? [])].flatMap((one) => pathsOf(one, base, given));
}

/** A rule with `deny` with the canonical text in its path. Paths that end in `*` and those of mounts stay as they are. */
export function withCanonicalPath(sourced: SourcedRule): SourcedRule {
  const { rule } = sourced;
  if (!rule.capabilities.includes("deny") || parsePattern(rule.path).open) return sourced;
  const found = placeOf(rule.path, undefined);
  const [text] = found && found.text !== "" ? (found.resource.texts?.(found.text) ?? []) : [];
  return found && text !== undefined ? withPath(sourced, filled(found.template, text)) : sourced;
}

/**
 * The rules for paths with a name after `nameAt` segments, with the name in lower case; null when all names in them are
 * in lower case already.
 */
export function rulesInLowerCase(rules: readonly SourcedRule[], nameAt: number): SourcedRule[] | null {
  const known = rules.filter(({ rule }) => mayHaveName(rule.path, nameAt));
  const folded = known.map((one) => withPath(one, withNameInLowerCase(one.rule.path, nameAt)));
  return folded.some((one, at) => one !== known[at]) ? folded : null;
}

/** False for most rules that match no path with a name after `nameAt` segments: they need no second index. */
function mayHaveName(path: string, nameAt: number): boolean {
  const before = path.split("/", nameAt)[nameAt - 1];
  return before === undefined || before.endsWith("*") || before === "+" || BEFORE_NAMES.has(before);
}

function withPath(sourced: SourcedRule, path: string): SourcedRule {
  return path === sourced.rule.path ? sourced : { ...sourced, rule: { ...sourced.rule, path } };
}

/** The path with the name after `nameAt` segments in lower case. */
export function withNameInLowerCase(path: string, nameAt: number): string {
  if (nameAt === NO_NAME) return path;
  let start = 0;
  for (let segment = 0; segment < nameAt; segment++) {
    const slash = path.indexOf("/", start);
    if (slash < 0) return path;
    start = slash + 1;
  }
  // Unlike in `nameKey`, no letter depends on the next letter, which is unknown in a rule that ends in `*`.
  return path.slice(0, start) + path.slice(start).toLowerCase().replaceAll("ς", "σ");
}

function pathsOf(resource: CompiledResource, base: string, given: ReadonlySet<string>): Spelling[] {
  const texts = new Set([...given].flatMap((text) => (text === "" ? [] : (resource.texts?.(text) ?? [text]))));
  return resource.templates.flatMap((template) => {
    const { head, tail } = template;
    const nameAt = resource.anyCase ? (base + head).split("/").length - 1 : NO_NAME;
    const spelled = [...texts].map((text) => ({ path: base + filled(template, text), nameAt }));
    if (tail === null) return [{ path: base + head, nameAt }];
    return resource.field === undefined ? spelled : [{ path: head.slice(0, -1), nameAt }, ...spelled];
  });
}

/** A path of the table, divided at its `*`. `tail` is null in a path without one. */
interface Template {
  readonly head: string;
  readonly tail: string | null;
}

interface CompiledResource extends Resource {
  readonly templates: readonly Template[];
}

const MOUNT = "{mount}";

const COMPILED: readonly CompiledResource[] = RESOURCES.map((resource) => {
  const templates = resource.paths.map((path) => {
    const [head = "", tail = null] = path.replace(MOUNT, "").split("*");
    return { head, tail };
  });
  return { ...resource, templates };
});

const INCLUDED = new Map(
  COMPILED.map((resource) => [resource, COMPILED.filter(({ paths }) => paths[0] === resource.includes)] as const),
);

/** The segments after which a path has a case-insensitive name. */
const BEFORE_NAMES = new Set(
  RESOURCES.flatMap(({ paths, anyCase }) => (anyCase ? paths : [])).map(
    (path) => /([a-z]+)\/\*$/.exec(path)?.[1] ?? "",
  ),
);

/** The resources by the first segments of their paths, which is `{mount}` for those of every mount. */
const BY_FIRST_SEGMENT = Map.groupBy(
  COMPILED.flatMap((resource) => [...new Set(resource.paths.map(firstSegment))].map((first) => ({ first, resource }))),
  ({ first }) => first,
);

function firstSegment(path: string): string {
  return path.startsWith(MOUNT) ? MOUNT : (path.split("/", 1)[0] ?? "");
}

interface FoundPlace {
  readonly resource: CompiledResource;
  readonly template: Template;
  /** The text at `*`; "" without one. */
  readonly text: string;
  /** The path of the mount; "" for a resource of no mount. */
  readonly base: string;
}

/** The resource of a path in the table, or null. A path belongs to one resource. */
function placeOf(path: string, mount: string | undefined): FoundPlace | null {
  const atMount = mount !== undefined && path.startsWith(mount) ? find(MOUNT, path.slice(mount.length), mount) : null;
  return atMount ?? find(firstSegment(path), path, "");
}

function find(first: string, path: string, base: string): FoundPlace | null {
  for (const { resource } of BY_FIRST_SEGMENT.get(first) ?? []) {
    for (const template of resource.templates) {
      const text = textIn(template, path, resource.field !== undefined);
      if (text !== null) return { resource, template, text, base };
    }
  }
  return null;
}

/** The text at `*` in a path, "" without one; null when the template is for other paths. */
function textIn({ head, tail }: Template, path: string, mayLackText: boolean): string | null {
  if ((tail === null || mayLackText) && (path === head || isWithoutSlash(path, head))) return "";
  if (tail === null || !path.startsWith(head) || !path.endsWith(tail)) return null;
  const end = path.length - tail.length;
  return end > head.length ? path.slice(head.length, end) : null;
}

function isWithoutSlash(path: string, list: string): boolean {
  return path.length === list.length - 1 && list.endsWith("/") && list.startsWith(path);
}

function filled({ head, tail }: Template, text: string): string {
  return head + text + (tail ?? "");
}
