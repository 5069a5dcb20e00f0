import type { ParameterRule, PathRule } from "./rule.ts";

/** Rules as the text of a policy, in HCL. A null in the value of a parameter has no form there; the text does not parse then. */
export function printRules(rules: readonly PathRule[]): string {
  return rules.map(printRule).join("\n");
}

function printRule(rule: PathRule): string {
  const { expiresAt, minWrappingTtlSeconds: min, maxWrappingTtlSeconds: max, paginationLimit: page } = rule;
  const settings = [
    ["capabilities", literal(rule.capabilities)],
    ...(rule.allowedParameters ? [["allowed_parameters", parameters(rule.allowedParameters)]] : []),
    ...(rule.deniedParameters ? [["denied_parameters", parameters(rule.deniedParameters)]] : []),
    ...(rule.requiredParameters ? [["required_parameters", literal(rule.requiredParameters)]] : []),
    ...(min === undefined ? [] : [["min_wrapping_ttl", literal(`${min}s`)]]),
    ...(max === undefined ? [] : [["max_wrapping_ttl", literal(`${max}s`)]]),
    ...(page === undefined ? [] : [["pagination_limit", literal(page)]]),
    ...(expiresAt === undefined ? [] : [["expiration", literal(new Date(expiresAt).toISOString())]]),
  ];
  return `path ${literal(rule.path)} {\n${settings.map(([key, value]) => `  ${key} = ${value}\n`).join("")}}\n`;
}

function parameters(list: readonly ParameterRule[]): string {
  if (list.length === 0) return "{}";
  return `{\n${list.map(({ name, values }) => `    ${literal(name)} = ${literal(values)}\n`).join("")}  }`;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${literal(key)} = ${literal(item)}`)
    .join(", ")} }`;
}
