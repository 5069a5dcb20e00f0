import { formatRfc3339, formatTime } from "../../base/clock.ts";
import type { StoredPolicy } from "../../system/stored-policy.ts";
import { view } from "../../wire/view.ts";

/** A policy without its text, whose key depends on the path. */
export const POLICY_VIEW = view<StoredPolicy>({
  name: ["string", (policy) => policy.name],
  version: ["integer", (policy) => policy.version],
  cas_required: ["boolean", (policy) => policy.casRequired],
  allow_slashes_in_identity_templates: ["boolean", (policy) => policy.allowSlashes],
  allow_wildcards_in_identity_templates: ["boolean", (policy) => policy.allowWildcards],
  modified: ["string", (policy) => formatRfc3339(policy.modifiedAt)],
  "expiration?": ["string", (policy) => formatTime(policy.expiresAt) ?? undefined],
});
