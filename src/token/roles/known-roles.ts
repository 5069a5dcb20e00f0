import { IsolateCopy } from "../../base/isolate-copy.ts";
import { maxCopyAgeMs } from "../../system/copy-age.ts";
import type { TokenEnv } from "../env.ts";
import type { TokenRole } from "../role.ts";
import { tokenRoles } from "./token-roles.ts";

/** Characters of the roles in one generation of the copies of an isolate, as JSON. */
const MAX_ROLE_CHARACTERS = 2 ** 19;

const copies = new IsolateCopy<string, TokenRole>(
  MAX_ROLE_CHARACTERS,
  () => false,
  (role) => JSON.stringify(role).length,
);

/**
 * Returns the token role from this isolate's copies, no older than POLICY_CACHE_SECONDS; null when there is none. The
 * absence of a role is not cached, because a client can choose any name.
 */
export async function loadRole(env: TokenEnv, name: string): Promise<TokenRole | null> {
  const role = await copies.load(name, maxCopyAgeMs(env), async () => {
    return (await tokenRoles(env).read(name)) ?? undefined;
  });
  return role ?? null;
}

/** Drops this isolate's copy of a role. Called after each write of a role here, so that the writer sees it at once. */
export function forgetRole(name: string): void {
  copies.forget(name);
}
