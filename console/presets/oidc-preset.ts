import { callbackPath } from "../sign-in/begun-login.ts";
import { claimsText, withoutSlash } from "./ci-presets.ts";
import { addressField, formed, type Preset, ROLE_FIELD } from "./preset.ts";

/** The redirect URI of `bao login` and `vault login`. */
const OF_THE_COMMAND = "http://localhost:8250/oidc/callback";

/** The name of a realm in the issuer of Keycloak. */
const REALM = /\/realms\/([\w.-]+)\/?$/;

/** The name of a group at a provider. */
const GROUP = /^[\w./@:+-]+(?: [\w./@:+-]+)*$/;

/** People, through a browser. */
export const PEOPLE: Preset = {
  id: "people",
  title: "People",
  text: "People who sign in at an OpenID Connect provider, in this console and by command: all, or one group.",
  thing: "sign-in",
  method: "oidc",
  mount: "oidc",
  settings: { listing_visibility: "unauth" },
  fields: [
    addressField("issuer", "Identity provider", "Its issuer, as in https://sso.example.com/realms/acme."),
    {
      ...formed("client", "Client id", "Of a client with a secret.", /^[\w.-]+$/, "The id of a client, as in grove."),
      isOfMount: true,
    },
    {
      name: "secret",
      label: "Client secret",
      isOfMount: true,
      hint: "It is kept sealed.",
      isSecret: true,
      wrong: (value) => (/^[\x20-\x7e]{1,1024}$/.test(value) ? "" : "A text of at most 1,024 characters."),
    },
    {
      ...formed(
        "group",
        "Group",
        "Only its members sign in, by the claim groups: /staff at Keycloak. Empty: all who can sign in there.",
        GROUP,
        "As the claim groups names it, as in /staff.",
      ),
      isOptional: true,
    },
    { ...ROLE_FIELD, usual: "people" },
  ],
  returnsTo: (place) => [consoleAddress(place), OF_THE_COMMAND],
  settingsOfMount: {
    label: "The identity provider",
    body: ({ issuer = "", client, secret }, { role }) => ({
      oidc_discovery_url: withoutSlash(issuer),
      oidc_client_id: client,
      oidc_client_secret: secret,
      default_role: role,
    }),
    found: ({ oidc_discovery_url: url, oidc_client_id: client, default_role: role }) =>
      client
        ? `signs people in at ${url} as the client ${client}, with its secret${role ? `, by the role ${role} unless another is named` : ""}`
        : "is set up without a client at a provider, for signed tokens only",
    effect: "Logins by all its roles then go to this provider as this client. Where it does not know them, they fail.",
  },
  role: ({ group = "" }, place) => ({
    role_type: "oidc",
    user_claim: "sub",
    oidc_scopes: ["profile"],
    ...(group !== "" && { bound_claims: { groups: group } }),
    claim_mappings: { preferred_username: "name" },
    allowed_redirect_uris: [consoleAddress(place), OF_THE_COMMAND],
    token_ttl: "8h",
    // A renewal does not ask the provider, so this limits how long a user keeps a token after the provider has removed
    // the user.
    token_max_ttl: "8h",
  }),
  snippets: ({ issuer = "", client = "" }, place) => [
    { title: "At the provider", text: clientAtProvider(issuer, client, place) },
    {
      title: "On the machine",
      text: `# In a browser: ${place.address}/ui/?with=${place.mount}
export VAULT_ADDR=${place.address}
bao login -method=oidc -path=${place.mount}
`,
    },
  ],
  identity: ({ issuer = "", client, group = "" }) =>
    claimsText({
      iss: withoutSlash(issuer),
      aud: client,
      sub: "a person",
      // An ID token without it is refused.
      iat: ISSUED_EARLY,
      ...(group !== "" && { groups: [group] }),
    }),
};

/** The time of issue of the example: in the past for every server (s). */
const ISSUED_EARLY = Date.UTC(2026, 0) / 1000;

/** How to make the client at Keycloak, or what it needs at another provider. */
function clientAtProvider(issuer: string, client: string, place: Parameters<Preset["role"]>[1]): string {
  const [, realm] = REALM.exec(issuer) ?? [];
  if (realm === undefined) {
    return `# A client with a secret and the authorization code flow. It may return to:
#   ${consoleAddress(place)}
#   ${OF_THE_COMMAND}
# For a group: its ID tokens have the claim groups.
`;
  }
  return `# Makes the client, with the whole paths of groups in its ID tokens, and shows its secret:
REALM=${realm}
kcadm.sh create clients -r "$REALM" -s clientId=${client} -s publicClient=false -s standardFlowEnabled=true \\
  -s directAccessGrantsEnabled=false -s 'attributes."pkce.code.challenge.method"=S256' \\
  -s 'redirectUris=["${consoleAddress(place)}", "${OF_THE_COMMAND}"]'
ID=$(kcadm.sh get clients -r "$REALM" -q clientId=${client} --fields id --format csv --noquotes)
kcadm.sh create "clients/$ID/protocol-mappers/models" -r "$REALM" -s name=groups -s protocol=openid-connect \\
  -s protocolMapper=oidc-group-membership-mapper -s 'config."claim.name"=groups' -s 'config."full.path"=true' \\
  -s 'config."id.token.claim"=true'
kcadm.sh get "clients/$ID/client-secret" -r "$REALM" --fields value --format csv --noquotes
`;
}

const consoleAddress = ({ address, mount }: Parameters<Preset["role"]>[1]): string =>
  `${address}${callbackPath(mount)}`;
