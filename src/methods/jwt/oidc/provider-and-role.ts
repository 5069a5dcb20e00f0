import { createHash } from "node:crypto";
import { type PrivateHosts, privateHosts } from "../../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, ok, type Result, refuse } from "../../../base/result.ts";
import { shown } from "../claim-checks.ts";
import type { JwtConfig } from "../config.ts";
import type { JwtRole } from "../role.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import type { BrowserLogin } from "./browser-role.ts";
import { openClientSecret } from "./client-secret.ts";
import type { OidcClient } from "./code-exchange.ts";
import { type Provider, providerOf } from "./provider-discovery.ts";

/** A provider, and this server as its client. */
export interface KnownProvider {
  readonly config: JwtConfig;
  readonly provider: Provider;
  readonly client: OidcClient;
  readonly listed: PrivateHosts;
}

/** Beginning of the messages of logins that fail, by which clients know them. */
export const LOGIN_FAILED = "Vault login failed.";

/**
 * Returns the provider of a mount. `revision` is that of the configuration when the login began, or null: the answer of
 * one issuer must not be taken to another one.
 */
export async function knownProvider(
  { env, installation, mount, checks }: OidcAttempt,
  found: JwtConfig | null,
  revision: string | null,
): Promise<Result<KnownProvider>> {
  const same = sameConfig(found, revision);
  if (!same.ok) return checks.record("configuration", {}, same);
  const config = same.value;
  const secret = await openClientSecret(installation.keys, mount, config);
  const { clientId: id } = config;
  if (id === undefined || secret === null) {
    return checks.record("configuration", {}, refuse("OIDC login is not configured for this mount"));
  }
  const listed = privateHosts(env);
  const provider = await providerOf(config, listed);
  if (!provider.ok) return checks.record("configuration", {}, err(serviceUnavailable(provider.error)));
  return checks.record("configuration", {}, ok({ config, provider: provider.value, client: { id, secret }, listed }));
}

/** Returns the configuration of a mount, if it is still that of this revision. @param revision null: any. */
export function sameConfig(found: JwtConfig | null, revision: string | null): Result<JwtConfig> {
  if (!found) return refuse("could not load configuration");
  const isSame = revision === null || found.revision === revision;
  return isSame ? ok(found) : refuse(`${LOGIN_FAILED} The configuration has changed: begin again.`);
}

/** A role that takes logins through a browser. */
export type BrowserRole = JwtRole & { readonly browser: BrowserLogin };

/** Returns the role of a login, if it takes logins through a browser. */
export function browserRole(
  { checks, notes }: OidcAttempt,
  { roleName, role }: { readonly roleName: string; readonly role: JwtRole | null },
): Result<BrowserRole> {
  if (roleName !== "") notes.role = roleName;
  const actual = shown(roleName || null);
  if (roleName === "") return checks.record("role", { actual }, refuse("missing role"));
  if (!role) return checks.record("role", { actual }, refuse(`role "${roleName}" could not be found`));
  notes.roleExists = true;
  const { browser } = role;
  if (!browser) return checks.record("role", { actual }, refuse("role with jwt role_type is not allowed"));
  return checks.record("role", { actual }, ok({ ...role, browser }));
}

/** A digest of what a role asks of a person. It stays the same after a change of what the role gives. */
export function conditionsOf({ token: _, ...conditions }: BrowserRole): string {
  return createHash("sha256").update(JSON.stringify(conditions)).digest("base64url");
}
