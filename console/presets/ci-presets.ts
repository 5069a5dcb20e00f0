import { UUID } from "../uuid.ts";
import { addressField, formed, jqField, jwtLogin, type Preset, ROLE_FIELD, type SettingsOfMount } from "./preset.ts";

const PLAIN = /^[\w.-]+(?:\/[\w.-]+)+$/;

/** The settings of a mount of the JWT method. */
const issuerOf = (body: SettingsOfMount["body"]): SettingsOfMount => ({
  label: "The issuer",
  body,
  found: ({ oidc_discovery_url: issuer, jwks_url: keys }) =>
    issuer
      ? `takes tokens of ${issuer}`
      : keys
        ? `takes tokens by the keys at ${keys}`
        : "takes tokens by keys of its own",
  effect: "The tokens of all its roles have to be of this issuer then. Logins with tokens of another one fail.",
});

const GITHUB_ISSUER = "https://token.actions.githubusercontent.com";

/** A job of a workflow, by the token that GitHub signs for it. */
export const GITHUB: Preset = {
  id: "github",
  title: "GitHub Actions",
  text: "Jobs of one repository and branch, by the token that GitHub signs for each job.",
  method: "jwt",
  mount: "github",
  fields: [
    formed("repository", "Repository", "As in acme/web.", /^[\w.-]+\/[\w.-]+$/, "Owner and name, as in acme/web."),
    formed(
      "branch",
      "Branch",
      "Jobs of other branches are refused.",
      /^(?!refs\/)[\w./-]+$/,
      "The name of one branch, as in main, without refs/heads/.",
    ),
    ROLE_FIELD,
  ],
  settingsOfMount: issuerOf(() => ({ oidc_discovery_url: GITHUB_ISSUER })),
  role: ({ repository, branch }, { address }) => ({
    role_type: "jwt",
    user_claim: "repository",
    bound_audiences: [address],
    bound_claims: { repository, ref: `refs/heads/${branch}` },
    claim_mappings: { run_id: "run" },
    token_ttl: "10m",
  }),
  snippets: (_, place) => [
    {
      title: "In the workflow",
      text: `permissions:
  contents: read
  id-token: write
jobs:
  ${place.role}:
    runs-on: ubuntu-latest
    env:
      VAULT_ADDR: ${place.address}
    steps:
      - name: Log in to Grove
        run: |
          JWT=$(curl -sS -H "Authorization: bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
            "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$VAULT_ADDR" | ${jqField("value")})
          VAULT_TOKEN=$(${jwtLogin(place, "          ")})
          echo "::add-mask::$VAULT_TOKEN"
          echo "VAULT_TOKEN=$VAULT_TOKEN" >> "$GITHUB_ENV"
`,
    },
  ],
  identity: ({ repository, branch }, { address }) =>
    claimsText({ iss: GITHUB_ISSUER, aud: address, repository, ref: `refs/heads/${branch}`, run_id: "1" }),
};

/** A job of a pipeline, by the token that GitLab signs for it. */
export const GITLAB: Preset = {
  id: "gitlab",
  title: "GitLab CI",
  text: "Jobs of one project on protected branches and tags, by the token that GitLab signs for each job.",
  method: "jwt",
  mount: "gitlab",
  fields: [
    addressField("issuer", "GitLab", "https://gitlab.com, or your own."),
    formed(
      "project",
      "Project",
      "With its groups, as in acme/shop/web.",
      PLAIN,
      "Groups and name, as in acme/shop/web.",
    ),
    ROLE_FIELD,
  ],
  settingsOfMount: issuerOf(({ issuer = "" }) => ({ oidc_discovery_url: withoutSlash(issuer) })),
  role: ({ project }, { address }) => ({
    role_type: "jwt",
    user_claim: "project_path",
    bound_audiences: [address],
    bound_claims: { project_path: project, ref_protected: "true" },
    claim_mappings: { job_id: "job" },
    token_ttl: "10m",
  }),
  snippets: (_, place) => [
    {
      title: "In .gitlab-ci.yml",
      text: `${place.role}:
  variables:
    VAULT_ADDR: ${place.address}
  id_tokens:
    JWT:
      aud: ${place.address}
  script:
    - |
      VAULT_TOKEN=$(${jwtLogin(place, "      ")})
      export VAULT_TOKEN
`,
    },
  ],
  identity: ({ issuer = "", project }, { address }) =>
    claimsText({
      iss: withoutSlash(issuer),
      aud: address,
      project_path: project,
      ref_protected: "true",
      job_id: "1",
    }),
};

/** A pod of a cluster whose issuer can be reached. */
export const KUBERNETES_ISSUER: Preset = {
  id: "kubernetes",
  title: "Kubernetes, by its issuer",
  text: "Pods of one service account. The cluster's issuer must be reachable over https, as with managed clusters.",
  method: "jwt",
  mount: "cluster",
  fields: [
    addressField("issuer", "Issuer", "kubectl get --raw /.well-known/openid-configuration shows it."),
    serviceAccountField(),
    ROLE_FIELD,
  ],
  settingsOfMount: issuerOf(({ issuer = "" }) => ({ oidc_discovery_url: withoutSlash(issuer) })),
  role: ({ account = "" }) => ({
    role_type: "jwt",
    user_claim: "sub",
    bound_audiences: ["grove"],
    bound_subject: subjectOf(account),
    token_ttl: "10m",
  }),
  snippets: ({ account = "" }, place) => podSnippets(account, place),
  identity: ({ issuer = "", account = "" }) =>
    claimsText({ iss: withoutSlash(issuer), aud: "grove", sub: subjectOf(account) }),
};

const entraIssuer = (tenant: string): string => `https://login.microsoftonline.com/${tenant}/v2.0`;

/** A managed identity or a service principal of a tenant, by a token for the app registration that represents Grove. */
export const ENTRA: Preset = {
  id: "entra",
  title: "Microsoft Entra",
  text: "One managed identity or service principal of a tenant, by a token for a registration that stands for Grove.",
  method: "jwt",
  mount: "entra",
  fields: [
    {
      ...formed("tenant", "Tenant id", "A GUID, on the tenant's overview.", UUID, "A GUID with dashes."),
      isOfMount: true,
    },
    formed(
      "app",
      "Application id of Grove",
      "That of the registration that stands for Grove.",
      UUID,
      "A GUID with dashes.",
    ),
    formed(
      "object",
      "Object id of the client",
      "Of its managed identity or service principal.",
      UUID,
      "A GUID with dashes.",
    ),
    ROLE_FIELD,
  ],
  settingsOfMount: issuerOf(({ tenant = "" }) => ({ oidc_discovery_url: entraIssuer(tenant.toLowerCase()) })),
  role: ({ app = "", object = "" }) => ({
    role_type: "jwt",
    user_claim: "oid",
    bound_audiences: [app.toLowerCase()],
    bound_claims: { oid: object.toLowerCase() },
    token_ttl: "10m",
  }),
  snippets: ({ app = "" }, place) => [
    {
      title: "At the registration",
      text: `# Its tokens are of version 2, whose issuer ends in /v2.0:
az rest --method PATCH --url "https://graph.microsoft.com/v1.0/applications(appId='${app.toLowerCase()}')" \\
  --body '{"api": {"requestedAccessTokenVersion": 2}, "identifierUris": ["api://${app.toLowerCase()}"]}'
`,
    },
    {
      title: "On the machine",
      text: `export VAULT_ADDR=${place.address}
JWT=$(curl -sS -H Metadata:true \\
  "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=api://${app.toLowerCase()}" | ${jqField("access_token")})
VAULT_TOKEN=$(${jwtLogin(place, "")})
export VAULT_TOKEN
`,
    },
  ],
  identity: ({ tenant = "", app = "", object = "" }) =>
    claimsText({ iss: entraIssuer(tenant.toLowerCase()), aud: app.toLowerCase(), oid: object.toLowerCase() }),
};

/** A client of a realm, by its client credentials. */
export const KEYCLOAK: Preset = {
  id: "keycloak",
  title: "Keycloak",
  text: "One client of a realm, by an access token of its service account.",
  method: "jwt",
  mount: "keycloak",
  fields: [
    addressField("realm", "Realm", "As in https://sso.example.com/realms/acme."),
    formed(
      "client",
      "Client id",
      "A client with service accounts enabled.",
      /^[\w.-]+$/,
      "The id of a client, as in ci.",
    ),
    ROLE_FIELD,
  ],
  settingsOfMount: issuerOf(({ realm = "" }) => ({ oidc_discovery_url: withoutSlash(realm) })),
  role: ({ client }) => ({
    role_type: "jwt",
    user_claim: "azp",
    bound_audiences: ["grove"],
    bound_claims: { azp: client },
    token_ttl: "10m",
  }),
  snippets: ({ realm = "", client = "" }, place) => [
    {
      title: "At the realm",
      text: `# The client's tokens name grove as an audience:
REALM=${withoutSlash(realm).split("/").at(-1)}
ID=$(kcadm.sh get clients -r "$REALM" -q clientId=${client} --fields id --format csv --noquotes)
kcadm.sh create "clients/$ID/protocol-mappers/models" -r "$REALM" -s name=grove -s protocol=openid-connect \\
  -s protocolMapper=oidc-audience-mapper -s 'config."included.custom.audience"=grove' \\
  -s 'config."access.token.claim"=true'
`,
    },
    {
      title: "In the job",
      // The file may end with a newline, which the command substitution removes.
      text: `export VAULT_ADDR=${place.address}
JWT=$(printf %s "$(cat /run/secrets/keycloak)" | curl -sS ${withoutSlash(realm)}/protocol/openid-connect/token \\
  -d grant_type=client_credentials -d client_id=${client} --data-urlencode client_secret@- | ${jqField("access_token")})
VAULT_TOKEN=$(${jwtLogin(place, "")})
export VAULT_TOKEN
`,
    },
  ],
  identity: ({ realm = "", client }) => claimsText({ iss: withoutSlash(realm), aud: "grove", azp: client }),
};

/** A service account of a cluster, by namespace and name. */
export function serviceAccountField() {
  const form = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;
  const wrong = "Namespace and name, as in web/api.";
  return formed("account", "Service account", "Namespace and name, as in web/api.", form, wrong);
}

/** A pod with a token for Grove, and the login in it. */
export function podSnippets(account: string, place: Parameters<Preset["snippets"]>[1]) {
  const [namespace = "", name = ""] = account.split("/");
  return [
    {
      title: "The pod",
      text: `# In the pod's template, in the namespace ${namespace}:
serviceAccountName: ${name}
volumes:
  - name: grove
    projected:
      sources:
        - serviceAccountToken: { path: token, audience: grove, expirationSeconds: 600 }
containers:
  - name: main
    env:
      - { name: VAULT_ADDR, value: "${place.address}" }
    volumeMounts:
      - { name: grove, mountPath: /var/run/secrets/grove, readOnly: true }
`,
    },
    {
      title: "In the container",
      text: `JWT=$(cat /var/run/secrets/grove/token)
VAULT_TOKEN=$(${jwtLogin(place, "")})
export VAULT_TOKEN
`,
    },
  ];
}

const subjectOf = (account: string): string => `system:serviceaccount:${account.replace("/", ":")}`;

/** The issuer as it is in the claim `iss`, without a slash at the end. */
export const withoutSlash = (url: string): string => url.replace(/\/$/, "");

/** An expiration far in the future, since the check also checks the times of a token. */
const ENDS_LATE = Date.UTC(2100, 0) / 1000;

/** The initial claims in the check of a login. */
export const claimsText = (claims: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ ...claims, exp: ENDS_LATE }, null, 2);
