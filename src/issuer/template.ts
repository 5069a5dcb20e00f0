import { parseDuration } from "../base/duration.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { EntityView } from "../identity/model.ts";
import type { TemplateAlias } from "../policy/template.ts";

/** Claims that a template can't set: they decide who a token is for and how long. */
const RESERVED_CLAIMS: ReadonlySet<string> = new Set([
  ...["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "namespace", "nonce", "auth_time", "at_hash", "c_hash"],
]);

const NOBODY: EntityView = {
  revision: "",
  disabled: false,
  policies: [],
  entity: { id: "", name: "", metadata: {}, aliases: {} },
  groups: [],
};

const NO_ALIAS: TemplateAlias = { id: "", name: "", metadata: {}, customMetadata: {} };

/**
 * Why `template` can't be the template of a role, or null. It must be a JSON object once its templates have values,
 * whatever these are, and set no reserved claim.
 */
export function templateProblem(template: string): string | null {
  if (template === "") return null;
  const claims = claimsFromTemplate(template, NOBODY, 0);
  if (!claims.ok) return claims.error;
  const reserved = Object.keys(claims.value).find((name) => RESERVED_CLAIMS.has(name));
  if (reserved === undefined) return null;
  return `top level key "${reserved}" not allowed. Restricted keys: ${[...RESERVED_CLAIMS].join(", ")}`;
}

/**
 * The claims of a template for an entity. Every value is inserted as JSON of its own: an owner who chooses a name with a
 * quote in it must not be able to add a claim.
 *
 * @param now ms.
 * @returns a message for operators when the template has an unknown expression or does not give a JSON object.
 */
export function claimsFromTemplate(
  template: string,
  view: EntityView,
  now: number,
): Result<Record<string, unknown>, string> {
  let unknown = false;
  const filled = template.replace(/\{\{([^{}]*)\}\}/g, (_, expression: string) => {
    const value = directiveValue(expression.trim(), view, now);
    if (value === undefined) unknown = true;
    return JSON.stringify(value ?? null);
  });
  if (unknown) return err("error parsing template: no value could be found for one of the template directives");
  try {
    const parsed: unknown = JSON.parse(filled);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return ok({ ...parsed });
  } catch {
    // The error is built below: the message of the parser would quote the values.
  }
  return err("error parsing template JSON: it must be an object once its templates have values");
}

type Value = string | number | readonly string[] | Readonly<Record<string, string>>;

/** undefined for an expression that does not exist. A value that an entity lacks is "" or {}. */
function directiveValue(expression: string, { entity, groups }: EntityView, now: number): Value | undefined {
  const selector = afterPrefix(expression, "identity.entity.");
  if (selector === null) return timeValue(expression, now);
  if (selector === "id") return entity.id;
  if (selector === "name") return entity.name;
  if (selector === "groups.names") return groups.map(({ name }) => name);
  if (selector === "groups.ids") return groups.map(({ id }) => id);
  const alias = afterPrefix(selector, "aliases.");
  if (alias === null) return mapValue("metadata", selector, entity.metadata);
  const dot = alias.indexOf(".");
  if (dot < 0) return undefined;
  const accessor = alias.slice(0, dot);
  const found = Object.hasOwn(entity.aliases, accessor) ? entity.aliases[accessor] : undefined;
  return aliasValue(alias.slice(dot + 1), found ?? NO_ALIAS);
}

function aliasValue(field: string, alias: TemplateAlias): Value | undefined {
  if (field === "id") return alias.id;
  if (field === "name") return alias.name;
  return mapValue("custom_metadata", field, alias.customMetadata) ?? mapValue("metadata", field, alias.metadata);
}

/** The map itself as `name`, one of its values as `name.key`. */
function mapValue(name: string, field: string, map: Readonly<Record<string, string>>): Value | undefined {
  if (field === name) return map;
  const key = afterPrefix(field, `${name}.`);
  if (key === null) return undefined;
  return (Object.hasOwn(map, key) ? map[key] : undefined) ?? "";
}

/** Seconds since 1970, moved by a duration: `time.now`, `time.now.plus.1h`, `time.now.minus.30m`. */
function timeValue(expression: string, now: number): number | undefined {
  const seconds = Math.floor(now / 1000);
  if (expression === "time.now") return seconds;
  const match = /^time\.now\.(plus|minus)\.(.+)$/.exec(expression);
  const duration = parseDuration(match?.[2] ?? "");
  if (!match || !duration.ok) return undefined;
  return match[1] === "plus" ? seconds + duration.value : seconds - duration.value;
}

function afterPrefix(text: string, prefix: string): string | null {
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}
