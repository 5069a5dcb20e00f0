import { hasForbiddenWildcards } from "./pattern.ts";
import { CAPABILITIES, type Capability, type PathRule } from "./rule.ts";
import { Settings } from "./settings.ts";
import { type Problems, quote, type SyntaxObject } from "./syntax.ts";
import { hasBalancedBraces } from "./template.ts";

/** Longest path of a rule, in characters. */
export const MAX_RULE_PATH_LENGTH = 4096;

const KEYS = [
  "comment",
  "policy",
  "capabilities",
  "allowed_parameters",
  "denied_parameters",
  "required_parameters",
  "min_wrapping_ttl",
  "max_wrapping_ttl",
  "mfa_methods",
  "pagination_limit",
  "expiration",
  "list_scan_response_keys_filter_path",
];

/** The capabilities that the values of the deprecated setting `policy` stand for. */
const OLD_POLICIES: ReadonlyMap<string, readonly Capability[]> = new Map([
  ["deny", ["deny"]],
  ["read", ["read", "list"]],
  ["write", ["create", "read", "update", "delete", "list"]],
  ["sudo", ["create", "read", "update", "delete", "list", "sudo"]],
]);

/**
 * Reads the block of one path. Mistakes are added to `problems`; the returned rule must not be used then. A block with
 * `deny` keeps only that and its expiry.
 *
 * @param at offset of the path in the text.
 */
export function readBlock(writtenPath: string, at: number, block: SyntaxObject, problems: Problems): PathRule {
  const path = writtenPath.startsWith("/") ? writtenPath.slice(1) : writtenPath;
  const settings = new Settings(block, `path ${quote(path)}: `, problems);
  checkPath(path, at, settings);
  settings.refuseOthers(KEYS);
  settings.refuseUnsupported("mfa_methods");
  settings.refuseUnsupported("list_scan_response_keys_filter_path");
  const capabilities = readCapabilities(settings);
  const limits = { ...readWrapping(settings), ...readParameters(settings), ...readPagination(settings) };
  const expiration = settings.expiration();
  const expiry = expiration ? { expiresAt: expiration.value } : {};
  if (capabilities.has("deny")) return { path, capabilities: ["deny"], ...expiry };
  return { path, capabilities: CAPABILITIES.filter((one) => capabilities.has(one)), ...limits, ...expiry };
}

function checkPath(path: string, at: number, settings: Settings): void {
  if (path.length > MAX_RULE_PATH_LENGTH) settings.problem(`is longer than ${MAX_RULE_PATH_LENGTH} characters`, at);
  if (hasForbiddenWildcards(path)) settings.problem("invalid use of wildcards ('+*' is forbidden)", at);
  if (!hasBalancedBraces(path)) settings.problem("unbalanced templating characters", at);
}

function readCapabilities(settings: Settings): Set<Capability> {
  const capabilities = new Set<Capability>();
  for (const { value, at } of settings.texts("capabilities")) {
    const capability = CAPABILITIES.find((one) => one === value);
    if (capability) capabilities.add(capability);
    else settings.problem(`invalid capability ${quote(value)}`, at);
  }
  const old = settings.text("policy");
  if (old && old.value !== "") {
    const meaning = OLD_POLICIES.get(old.value);
    if (!meaning) settings.problem(`invalid policy ${quote(old.value)}`, old.at);
    for (const capability of meaning ?? []) capabilities.add(capability);
  }
  return capabilities;
}

function readWrapping(settings: Settings): Pick<PathRule, "minWrappingTtlSeconds" | "maxWrappingTtlSeconds"> {
  const min = settings.duration("min_wrapping_ttl");
  const max = settings.duration("max_wrapping_ttl");
  if (min && max && max.value > 0 && max.value < min.value) {
    settings.problem("max_wrapping_ttl cannot be less than min_wrapping_ttl", max.at);
  }
  return {
    ...(min && min.value > 0 && { minWrappingTtlSeconds: min.value }),
    ...(max && max.value > 0 && { maxWrappingTtlSeconds: max.value }),
  };
}

function readParameters(
  settings: Settings,
): Pick<PathRule, "allowedParameters" | "deniedParameters" | "requiredParameters"> {
  const allowed = settings.parameters("allowed_parameters");
  const denied = settings.parameters("denied_parameters");
  const required = new Set(settings.texts("required_parameters").map(({ value }) => value.toLowerCase()));
  return {
    ...(allowed && { allowedParameters: allowed }),
    ...(denied && { deniedParameters: denied }),
    ...(required.size > 0 && { requiredParameters: [...required] }),
  };
}

function readPagination(settings: Settings): Pick<PathRule, "paginationLimit"> {
  const limit = settings.count("pagination_limit");
  return limit && limit.value > 0 ? { paginationLimit: limit.value } : {};
}
