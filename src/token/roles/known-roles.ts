import { IsolateCopy } from "../../base/isolate-copy.ts";
import { snapshotMaxAgeMs } from "../../system/copy-age.ts";
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
 * The token role as this isolate knows it, no older than POLICY_CACHE_SECONDS; null when there is none. That there is none is
 * asked for every time: names of such ones could be any.
 */
export async function loadRole(env: TokenEnv, name: string): Promise<TokenRole | null> {
  const role = await copies.load(name, snapshotMaxAgeMs(env), async () => {
    return (await tokenRoles(env).read(name)) ?? undefined;
  });
  return role ?? null;
}

/** Makes this isolate read a role again. Called after every own write of it, so that the writer sees it at once. */
export function forgetRole(name: string): void {
  copies.forget(name);
}
