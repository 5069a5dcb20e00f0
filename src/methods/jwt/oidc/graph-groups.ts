import type { PrivateHosts } from "../../../base/outbound-hosts.ts";
import { serviceUnavailable } from "../../../base/outbound-http.ts";
import { err, type Failure, ok, type Result, refuse } from "../../../base/result.ts";
import type { Claims } from "../../jws.ts";
import { leavesGroupsOut } from "../claims.ts";
import type { JwtConfig } from "../config.ts";
import { askIssuer, jsonOf } from "../fetch-json.ts";
import type { JwtRole } from "../role.ts";
import type { OidcAttempt } from "./browser-checks.ts";
import type { Provider } from "./provider-discovery.ts";

interface GraphOfProvider {
  readonly config: Pick<JwtConfig, "provider">;
  readonly provider: Pick<Provider, "graphHost">;
  readonly listed: PrivateHosts;
}

/** Adds the groups that an ID token of Entra leaves out. A login does not go on without them. */
export async function withGraphGroups(
  { checks }: OidcAttempt,
  { config, provider, listed }: GraphOfProvider,
  { groupsClaim }: Pick<JwtRole, "groupsClaim">,
  claims: Claims,
  accessToken: string,
): Promise<Result<Claims>> {
  if (config.provider !== "azure" || !leavesGroupsOut(claims, groupsClaim)) return ok(claims);
  const groups = await askGroups(provider.graphHost, accessToken, listed);
  const compared = { bound: provider.graphHost === null ? [] : [provider.graphHost] };
  const recorded = checks.record("oidc_groups", compared, groups);
  return recorded.ok ? ok({ ...claims, [groupsClaim.replace(/^\//, "")]: recorded.value }) : recorded;
}

/**
 * Asks Microsoft Graph for the groups of the person whose access token this is. The address that the ID token gives is
 * not used: it is of a service that has ended, and a token must not choose where an access token is sent (SSRF).
 */
async function askGroups(
  host: string | null,
  accessToken: string,
  listed: PrivateHosts,
): Promise<Result<readonly string[]>> {
  if (host === null) return refuse(`${FAILED} the provider names no Microsoft Graph (msgraph_host)`);
  if (accessToken === "") return refuse(`${FAILED} the provider gave no access token`);
  const answer = await askIssuer(
    {
      method: "POST",
      url: `https://${host}/v1.0/me/getMemberObjects`,
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${accessToken}`,
        "Content-Type": "application/json",
      },
      body: '{"securityEnabledOnly":false}',
    },
    listed,
  );
  if (!answer.ok) return err(isNotThere(answer.error));
  const { status } = answer.value;
  if (status === 429 || status >= 500) return err(isNotThere(`it answered ${status}`));
  const body = jsonOf(answer.value);
  const groups = body.ok ? readMemberObjects(body.value) : body;
  return groups.ok ? groups : refuse(`${FAILED} Microsoft Graph: ${groups.error}`);
}

const FAILED = "error fetching groups:";

function isNotThere(reason: string): Failure {
  return serviceUnavailable(`${FAILED} Microsoft Graph: ${reason}`);
}

/** Reads the ids of an answer of Microsoft Graph. Refuses a partial list: the person would lose the other groups. */
export function readMemberObjects(answer: Readonly<Record<string, unknown>>): Result<readonly string[], string> {
  if (answer["@odata.nextLink"] !== undefined) return err("its answer is only a part of the list");
  const { value } = answer;
  if (!Array.isArray(value)) return err("its answer is no list of groups");
  const ids = value.filter((id) => typeof id === "string" && ID.test(id));
  return ids.length === value.length ? ok(ids) : err("its answer is no list of groups");
}

/** A GUID, as ids of Entra are. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
