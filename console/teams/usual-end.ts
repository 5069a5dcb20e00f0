import { duration } from "../format.ts";
import { DEFAULT_TTL, type Organization, type TeamToken } from "./resources.ts";

/** When the new token of a rotation ends if no end is given, in words. */
export function newEnd(token: TeamToken, organization: Organization | null): string {
  const end = token["expired-at"];
  if (end !== null) {
    const seconds = (Date.parse(end) - Date.parse(token["created-at"])) / 1000;
    return `after ${duration(seconds)}, as long as the old one was to live, within the organization's greatest lifetime`;
  }
  return usualEnd(organization) ?? "never, like the old one";
}

/** When a token ends that names no end, in words; null: never. @param organization null when it is not known */
export function usualEnd(organization: Organization | null): string | null {
  if (organization === null) return "as the organization says, else never";
  const usual = organization[DEFAULT_TTL] ?? 0;
  const isBound = organization["max-ttl-enabled"] === true;
  if (usual > 0) {
    return `after ${duration(usual / 1000)}, as the organization says${isBound ? ", within its greatest lifetime" : ""}`;
  }
  if (organization["end-tokens-after-24-months"]) {
    return `after 24 months, as the organization says${isBound ? ", within its greatest lifetime" : ""}`;
  }
  return isBound ? "with the greatest lifetime of the organization" : null;
}
