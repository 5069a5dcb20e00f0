import type { StoredPolicy } from "../../client/answers.d.ts";
import { pathOf } from "../href.ts";
import type { Problem } from "../result.ts";

/** Settings that a write must repeat, because it replaces the whole policy. */
export function settingsOf({ name: _, policy: __, version: ___, modified: ____, ...settings }: StoredPolicy) {
  return settings;
}

/** The name of a policy in a URL: a slash in the name is a slash in the path. */
const inPath = (name: string): string => pathOf(...name.split("/"));

/** The endpoints of a policy, of its versions, and of its usage. */
export const endpointOf = (name: string): string => `sys/policies/acl/${inPath(name)}`;
export const versionsPath = (name: string): string => `sys/policies/versions/acl/${inPath(name)}`;
export const usagePath = (name: string): string => `sys/policies/usage/acl/${inPath(name)}`;

const SETTINGS = [
  "allow_slashes_in_identity_templates",
  "allow_wildcards_in_identity_templates",
  "cas_required",
  "expiration",
] as const;

/** The settings of `version` that differ from those of `current`, with the values of `version`. */
export function otherSettings(version: StoredPolicy, current: StoredPolicy): string[] {
  const others = SETTINGS.filter((name) => version[name] !== current[name]);
  return others.map((name) => `${name}: ${version[name] ?? "none"}`);
}

/** True when the server has another version than the request expected. */
export const isConflict = ({ status, messages }: Problem): boolean =>
  status === 400 && messages.some((message) => message.includes("check-and-set"));

/** A place in a text: lines and columns begin with 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The place that a message of the policy parser names; null when it names none. */
export function placeIn(message: string): Place | null {
  const found =
    // The place of the first mistake ends the message. Sentences before it may name the lines of others.
    /\(line (\d+), column (\d+)\)\s*$/.exec(message) ??
    /line (\d+)(?:,? (?:column|col) (\d+))?/i.exec(message) ??
    /\b(\d+):(\d+)\b/.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2] ?? 1) } : null;
}

/** The offset of the place in the text (UTF-16 code units). */
export function offsetOf(text: string, { line, column }: Place): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // The server counts characters, the browser UTF-16 code units.
  const within = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("");
  return Math.min(text.length, before + within.length);
}
