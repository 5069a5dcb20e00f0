import type { Ms } from "../../base/clock.ts";
import { addressAllowed, networksInBoth } from "../../token/rules/bound-cidrs.ts";
import type { SecretId } from "./secret-id.ts";

/** The client of a login, and the networks that the role binds its tokens to. */
export interface SecretIdClient {
  readonly address: string | null;
  readonly tokenCidrs: readonly string[];
}

/**
 * Returns the networks that the tokens of a secret-id are bound to; empty: any network. The role may have been narrowed
 * since the secret-id was made, so a network counts as far as both have it. null: they have none in common.
 */
export function tokenNetworks({ tokenCidrs }: SecretId, ofRole: readonly string[]): readonly string[] | null {
  if (tokenCidrs.length === 0) return ofRole;
  if (ofRole.length === 0) return tokenCidrs;
  const inBoth = networksInBoth(tokenCidrs, ofRole);
  return inBoth.length > 0 ? inBoth : null;
}

/** Returns the list of networks that excludes a client; null when it may log in with the secret-id. */
export function excludingList(secretId: SecretId, client: SecretIdClient): "cidr_list" | "token_bound_cidrs" | null {
  if (!addressAllowed(secretId.cidrs, client.address)) return "cidr_list";
  const networks = tokenNetworks(secretId, client.tokenCidrs);
  return networks !== null && addressAllowed(networks, client.address) ? null : "token_bound_cidrs";
}

/** The secret-id after a login; null after its last use. */
export function afterUse(secretId: SecretId, now: Ms): SecretId | null {
  if (secretId.usesLeft === 0) return secretId;
  return secretId.usesLeft === 1 ? null : { ...secretId, usesLeft: secretId.usesLeft - 1, updatedAt: now };
}

/** What a login does with a secret-id: none of its uses is counted when a list of networks excludes the client. */
export function useOf(secretId: SecretId, client: SecretIdClient, now: Ms) {
  const excludedBy = excludingList(secretId, client);
  return excludedBy === null ? { excludedBy, after: afterUse(secretId, now) } : { excludedBy, after: secretId };
}
