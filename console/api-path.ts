/** A path with each part encoded: names hold slashes and spaces. */
export const pathOf = (...parts: readonly string[]): string => parts.map(encodeURIComponent).join("/");

/** Where the interface of teams is. */
export const TEAMS_BASE = /^\/api\/v2\//;

/** A path of `Api.call` as policies have it. */
export const policyPathOf = (path: string): string => decodeURIComponent(path.replace(TEAMS_BASE, ""));
