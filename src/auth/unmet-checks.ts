/** What is wrong when a check of a login fails, by the name of the check, for all methods. */
const WRONG: ReadonlyMap<string, string> = new Map(
  Object.entries({
    role: "There is no such role, or it does not take this kind of login.",
    configuration: "The mount is not configured for this login, or was changed since the login began.",
    form: "What was sent is no credential of the form that the login needs.",
    address: "The client's address is in no network that the role or its tokens are bound to.",
    entity: "The entity of the holder is disabled or can't be used.",
    token: "The role and the mount can give no token.",
    // AppRole
    secret_id: "The role has no such secret-id, or it has ended, or its uses are spent.",
    secret_id_address: "The client's address is in no network that the secret-id or its tokens are bound to.",
    // JWT and OIDC
    keys: "The keys of the issuer could not be read.",
    signature: "No key that the mount knows has signed the token.",
    times: "The token is not valid now: it has ended, begins later, or lacks a time (exp, nbf, iat).",
    bound_issuer: "The issuer (iss) is not the one that the mount trusts.",
    bound_subject: "The subject (sub) is not the one that the role is bound to.",
    bound_audiences: "No audience (aud) is one that the role is bound to.",
    user_claim: "The claim that names the holder is missing or can't be read.",
    email_verified: "The issuer calls the address unverified (email_verified).",
    groups_claim: "The claim that lists groups can't be read.",
    oidc_claims: "The token lacks its end, its time of issue or its subject (exp, iat, sub).",
    oidc_client: "The token is for another client (aud, azp).",
    oidc_redirect: "The address to return to is none of those that the role allows.",
    oidc_device: "The provider began no login on a device.",
    oidc_state: "The login was not begun here, is too old, or was continued by another request.",
    oidc_client_nonce: "The client is not the one that began the login.",
    oidc_answer: "The provider refused, or another provider answered (iss).",
    oidc_exchange: "The provider gave no tokens for its answer.",
    oidc_issuer: "The issuer (iss) is not the one of the discovery document.",
    oidc_nonce: "The ID token does not repeat the nonce of the login.",
    oidc_access_token: "The access token does not belong to the ID token (at_hash).",
    oidc_groups: "Microsoft Graph did not list the groups that the ID token leaves out.",
    oidc_age: "The person signed in at the provider too long ago (max_age).",
    // Kubernetes
    issuer: "The issuer (iss) is not the one that the mount is bound to.",
    audience: "No audience (aud) is the one that the role asks for.",
    names: "The token names no service account that the role takes.",
    namespaces: "The token names no namespace that the role takes.",
    review: "The API server did not say that the token is good.",
    namespace_selector: "The namespace lacks labels that the role asks for.",
    annotations: "The annotations of the service account can't be metadata.",
    // Cloud logins
    request: "The request lacks fields of each kind of login, or has those of several.",
    auth_type: "The role takes another kind of login.",
    document: "The document is not signed by the cloud.",
    caller: "STS did not say who signed the request.",
    nonce: "The nonce does not have the form of one.",
    principal: "The principal is none that the role is bound to.",
    inferred_session: "The principal is no session of an assumed role that is named like an instance.",
    instance: "The instance does not run, by what the cloud says, or the cloud did not answer.",
    bound_region: "The region is none that the role is bound to.",
    bound_vm_instance_id: "The instance is none that the role is bound to.",
    bound_account_id: "The account is none that the role is bound to.",
    bound_image_id: "The image is none that the role is bound to.",
    bound_subnet_id: "The subnet is none that the role is bound to.",
    bound_vpc_id: "The VPC is none that the role is bound to.",
    bound_iam_instance_profile_arn: "The instance profile is none that the role is bound to.",
    bound_iam_role_arn: "The role in the instance profile is none that the role is bound to.",
    inferred_role: "The role in the instance profile is not the one whose session the principal is.",
    role_tag: "The instance has no genuine role tag, which the role wants.",
    deny_list: "The role tag is on the deny list.",
    access_list: "The access list does not let the instance log in: it has logged in before, and the nonce is wrong.",
    signature_uses: "The signed request has given as many tokens as it may.",
  }),
);

/** The same for the checks of claims that a role names. */
const OF_CLAIM: Readonly<Record<string, string>> = {
  bound_claims: "has none of the values that the role is bound to.",
  claim_mappings: "can't be copied into the metadata of the token.",
};

/** Returns what is wrong when the check fails; "" for an unknown check. */
export function unmetText(check: string): string {
  const [, list = "", claim = ""] = /^(bound_claims|claim_mappings)\.(.+)$/s.exec(check) ?? [];
  if (claim !== "") return `The claim "${claim}" ${OF_CLAIM[list]}`;
  return WRONG.get(check) ?? "";
}
