import { REVIEWER_TOKEN } from "../methods/kubernetes-parts.ts";
import { SCRIPT } from "./approle-preset.ts";
import { ENTRA, GITHUB, GITLAB, KEYCLOAK, KUBERNETES_ISSUER, podSnippets, serviceAccountField } from "./ci-presets.ts";
import { PEOPLE } from "./oidc-preset.ts";
import { addressField, formed, type Preset, ROLE_FIELD } from "./preset.ts";

/** Pods of a cluster whose API server checks each token. */
const KUBERNETES_REVIEW: Preset = {
  id: "kubernetes-review",
  title: "Kubernetes, by TokenReview",
  text: "Pods of one service account. Grove asks the API server about each token, so it must reach it over https.",
  method: "kubernetes",
  mount: "kubernetes",
  first: {
    title: "In the cluster, first",
    text: `kubectl create namespace grove
kubectl -n grove create serviceaccount reviewer
kubectl create clusterrole grove-reviewer --verb=get --resource=serviceaccounts,namespaces
kubectl create clusterrolebinding grove-reads --clusterrole=grove-reviewer --serviceaccount=grove:reviewer
kubectl create clusterrolebinding grove-reviews --clusterrole=system:auth-delegator --serviceaccount=grove:reviewer
kubectl -n grove create token reviewer --duration=8760h
`,
  },
  fields: [
    addressField("host", "API server", "As in https://cluster.example.com."),
    serviceAccountField(),
    {
      name: "reviewer",
      label: "Token of the reviewer",
      isOfMount: true,
      hint: "What the last command above printed. It is kept sealed.",
      isSecret: true,
      wrong: (value) => (REVIEWER_TOKEN.pattern.test(value) ? "" : REVIEWER_TOKEN.wrong),
    },
    ROLE_FIELD,
  ],
  settingsOfMount: {
    label: "The API server and its reviewer",
    body: ({ host = "", reviewer }) => ({ kubernetes_host: host.replace(/\/$/, ""), token_reviewer_jwt: reviewer }),
    found: ({ kubernetes_host: host, token_reviewer_jwt_set: isSet }) =>
      `asks ${host}, and has ${isSet === true ? "the token of a reviewer" : "no token of a reviewer"}`,
    effect:
      "The tokens of all its roles are then checked at this API server as this reviewer. Where it does not accept them, their logins fail.",
    lacksSecret: ({ token_reviewer_jwt_set: isSet }) => isSet === false,
  },
  role: ({ account = "" }) => {
    const [namespace = "", name = ""] = account.split("/");
    return {
      bound_service_account_names: [name],
      bound_service_account_namespaces: [namespace],
      audience: "grove",
      token_ttl: "10m",
    };
  },
  snippets: ({ account = "" }, place) => podSnippets(account, place),
  identity: () => "",
};

const principalOf = ({ account = "", name = "" }: Readonly<Record<string, string>>): string =>
  `arn:aws:iam::${account}:role/${name}`;

/** Clients with an IAM role, by a signed request. */
const AWS: Preset = {
  id: "aws",
  title: "AWS",
  text: "Instances, functions and tasks with one IAM role, by a request that they sign. Grove needs no key of the cloud.",
  method: "aws",
  mount: "aws",
  fields: [
    formed("account", "Account", "Twelve digits.", /^\d{12}$/, "The number of an account: twelve digits."),
    formed(
      "name",
      "IAM role",
      "Its name, without a path, as in web.",
      /^[\w+=,.@-]{1,64}$/,
      "The name of a role, as in web.",
    ),
    ROLE_FIELD,
  ],
  settingsOfMount: {
    label: "The server id",
    body: (_, { address }) => ({ iam_server_id_header_value: hostOf(address) }),
    found: ({ iam_server_id_header_value: id }) => (id ? `takes requests that name ${id}` : "asks for no server id"),
    effect:
      "Clients of all its roles then have to sign the header X-Vault-AWS-IAM-Server-ID with this name. Logins of those that do not send it fail.",
  },
  role: (values) => ({
    auth_type: "iam",
    bound_iam_principal_arn: [principalOf(values)],
    // Resolving the id would need credentials of the cloud.
    resolve_aws_unique_ids: false,
    token_ttl: "1h",
  }),
  snippets: (_, { address, mount, role }) => [
    {
      title: "On the instance",
      text: `export VAULT_ADDR=${address}
VAULT_TOKEN=$(bao login -method=aws -path=${mount} -token-only header_value=${hostOf(address)} role=${role})
export VAULT_TOKEN
`,
    },
  ],
  identity: principalOf,
};

function hostOf(address: string): string {
  return new URL(address).hostname;
}

/** The presets, in the order of the page. */
export const PRESETS: readonly Preset[] = [
  PEOPLE,
  GITHUB,
  GITLAB,
  KUBERNETES_ISSUER,
  KUBERNETES_REVIEW,
  ENTRA,
  KEYCLOAK,
  AWS,
  SCRIPT,
];
