import { callbackPath } from "../sign-in/arrival.ts";
import { claimsText, withoutSlash } from "./issuers.ts";
import { addressField, formed, type Preset, ROLE_FIELD } from "./preset.ts";

/** Where `bao login` and `vault login` wait for the answer of the provider. */
const OF_THE_COMMAND = "http://localhost:8250/oidc/callback";

/** People, through a browser. */
export const PEOPLE: Preset = {
  id: "people",
  title: "People",
  text: "People who sign in at an OpenID Connect provider, in this console and by command. The role can require a group.",
  thing: "sign-in",
  method: "oidc",
  mount: "oidc",
  settings: { listing_visibility: "unauth" },
  fields: [
    addressField("issuer", "Identity provider", "Its issuer, as in https://sso.example.com/realms/acme."),
    {
      ...formed(
        "client",
        "Client id",
        "Of a client with the authorization code flow. It lists the addresses below “For the client”.",
        /^[\w.-]+$/,
        "The id of a client, as in grove.",
      ),
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
    { ...ROLE_FIELD, usual: "people" },
  ],
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
  },
  role: (_, place) => ({
    role_type: "oidc",
    user_claim: "sub",
    oidc_scopes: ["profile"],
    claim_mappings: { preferred_username: "name" },
    allowed_redirect_uris: [consoleAddress(place), OF_THE_COMMAND],
    token_ttl: "8h",
  }),
  snippets: (_, place) => [
    {
      title: "At the provider",
      text: `# The client lists these addresses to return to:
#   ${consoleAddress(place)}
#   ${OF_THE_COMMAND}
`,
    },
    {
      title: "On the machine",
      text: `# In a browser: ${place.address}/ui/?with=${place.mount}
export VAULT_ADDR=${place.address}
bao login -method=oidc -path=${place.mount}
`,
    },
  ],
  identity: ({ issuer = "", client }) => claimsText({ iss: withoutSlash(issuer), aud: client, sub: "a person" }),
};

const consoleAddress = ({ address, mount }: Parameters<Preset["role"]>[1]): string =>
  `${address}${callbackPath(mount)}`;
