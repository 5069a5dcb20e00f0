import type { Problem } from "../result.ts";

/** A policy as the API answers it. */
export interface StoredPolicy {
  readonly name: string;
  readonly policy: string;
  /** Counts its writes; -1 for one that is to be made. */
  readonly version: number;
  readonly modified?: string;
  readonly expiration?: string;
  readonly cas_required?: boolean;
  readonly allow_slashes_in_identity_templates?: boolean;
  readonly allow_wildcards_in_identity_templates?: boolean;
}

/** What a write has to repeat: it replaces the whole policy, and what it leaves out is as in a new one. */
export function settingsOf({ name: _, policy: __, version: ___, modified: ____, ...settings }: StoredPolicy) {
  return settings;
}

/** True when the server has another version than the one that the request named. */
export const isConflict = ({ status, messages }: Problem): boolean =>
  status === 400 && messages.some((message) => message.includes("check-and-set"));
