import { beforeAll, describe, expect, it } from "vitest";
import { kubernetesAuthAt } from "../../../../src/methods/kubernetes/kubernetes-auth.ts";
import { CLUSTER, FakeApiServer } from "../../../support/fake-api-server.ts";
import { mountKubernetes, REVIEWER } from "../../../support/kubernetes.ts";
import { storedText } from "../../../support/rows.ts";
import { bindings, call, initialized } from "../../../support/service.ts";

let root: string;
let server: FakeApiServer;

beforeAll(async () => {
  root = await initialized();
  server = await FakeApiServer.start();
  server.addAccount("web", "api");
});

const refusalOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, String(body.errors?.[0])];

describe("the configuration", () => {
  it("shows no reviewer, and says that there is one", async () => {
    const { read } = await mountKubernetes(root, "shown", server);
    const answer = await read("config");
    expect(answer.body.data).toEqual({
      ...{ kubernetes_host: CLUSTER, kubernetes_ca_cert: "", pem_keys: [], issuer: "", token_reviewer_jwt_set: true },
      ...{ disable_iss_validation: true, disable_local_ca_jwt: false, use_annotations_as_alias_metadata: false },
    });
    expect(JSON.stringify(answer.body)).not.toContain(REVIEWER);
    expect(answer.body.warnings ?? null).toBeNull();
    const { body } = await call("GET", "sys/auth/shown", { token: root });
    const object = kubernetesAuthAt(bindings, { uuid: String(body.data.uuid) });
    expect(await storedText(object)).not.toContain(REVIEWER);
  });

  it("keeps the reviewer when what was read is written back, and never for another host", async () => {
    const { read, write, login } = await mountKubernetes(root, "kept", server);
    const [api] = server.accounts;
    const jwt = api ? await server.tokenOf(api) : "";
    server.asked.length = 0;
    await write("config", (await read("config")).body.data);
    expect((await read("config")).body.data.token_reviewer_jwt_set).toBe(true);
    expect((await login(jwt)).status).toBe(200);
    expect(server.asked[0]?.bearer).toBe(REVIEWER);
    // Whoever may write the configuration would have the reviewer sent to himself.
    await write("config", { kubernetes_host: "https://evil.example.com" });
    expect((await read("config")).body.data.token_reviewer_jwt_set).toBe(false);
    await write("config", { kubernetes_host: CLUSTER });
    const later = await read("config");
    expect(later.body.data.token_reviewer_jwt_set).toBe(false);
    expect(later.body.warnings).toEqual([expect.stringContaining("no token of this mount can be renewed")]);
    await write("config", { kubernetes_host: CLUSTER, token_reviewer_jwt: REVIEWER });
    await write("config", { kubernetes_host: CLUSTER, token_reviewer_jwt: "" });
    expect((await read("config")).body.data.token_reviewer_jwt_set).toBe(false);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["without a host", { kubernetes_host: null }, "no host provided"],
    ["with a blank host", { kubernetes_host: "" }, "no host provided"],
    ["without TLS", { kubernetes_host: "http://cluster.example.com" }, "kubernetes_host must be an https URL"],
    ["with a private host", { kubernetes_host: "https://10.0.0.1:6443" }, "must be a host on the public internet"],
    ["with a host of the cluster's network", { kubernetes_host: "kubernetes.default.svc" }, "public internet"],
    ["with the same in full", { kubernetes_host: "kubernetes.default.svc.cluster.local" }, "public internet"],
    ["with a user in the URL", { kubernetes_host: "https://a:b@cluster.example.com" }, "must not have a user"],
    ["with a query", { kubernetes_host: "https://cluster.example.com/?a=" }, "must not have a query"],
    ["with a long host", { kubernetes_host: `https://${"a".repeat(3000)}.com` }, "must be an https URL"],
    ["with an authority that is not public", { kubernetes_ca_cert: "x" }, "kubernetes_ca_cert can't be trusted"],
    ["with a reviewer that no header carries", { token_reviewer_jwt: "a\u0000b" }, "token_reviewer_jwt is no token"],
    ["with a long reviewer", { token_reviewer_jwt: "x".repeat(20_000) }, "token_reviewer_jwt is no token"],
    ["with a key that is none", { pem_keys: ["x"] }, "item 1 is not a public key"],
    ["with a long issuer", { issuer: "x".repeat(3000) }, "issuer must not be longer"],
  ])("is refused %s", async (_, fields, message) => {
    const { write } = await mountKubernetes(root, "refusing", server);
    expect(refusalOf(await write("config", { kubernetes_host: CLUSTER, ...fields }))).toEqual([
      400,
      expect.stringContaining(message),
    ]);
  });

  it("takes a host without a scheme, and a path below which the cluster is", async () => {
    const { write, login, read } = await mountKubernetes(root, "spelled", server);
    const [api] = server.accounts;
    await write("config", { kubernetes_host: "cluster.example.com", token_reviewer_jwt: REVIEWER });
    expect((await login(api ? await server.tokenOf(api) : "")).status).toBe(200);
    expect((await read("config")).body.data.kubernetes_host).toBe("cluster.example.com");
    await write("config", { kubernetes_host: `${CLUSTER}/k8s/clusters/c-1/`, token_reviewer_jwt: REVIEWER });
    server.asked.length = 0;
    await login(api ? await server.tokenOf(api) : "");
    expect(server.asked[0]?.path).toBe("/k8s/clusters/c-1/apis/authentication.k8s.io/v1/tokenreviews");
  });
});

describe("a role", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["without names", { bound_service_account_names: [] }, '"bound_service_account_names" can not be empty'],
    [
      "without namespaces",
      { bound_service_account_namespaces: "" },
      '"bound_service_account_namespaces" can not be empty',
    ],
    ["with * beside a name", { bound_service_account_names: ["*", "api"] }, 'can not mix "*" with values'],
    ["with * beside a namespace", { bound_service_account_namespaces: ["web", "*"] }, 'can not mix "*" with values'],
    ["with another source of aliases", { alias_name_source: "uid" }, "invalid alias_name_source"],
    ["with a selector of every namespace", selector({}), 'invalid "bound_service_account_namespace_selector"'],
    ["with a misspelled selector", selector({ matchlabels: { a: "b" } }), "must have matchLabels"],
    ["with an empty selector", selector({ matchLabels: {} }), "must have labels"],
    ["with labels that are no text", selector({ matchLabels: { a: 1 } }), "must have labels"],
    ["with expressions", selector({ matchExpressions: [] }), "matchExpressions"],
    [
      "with a selector that is no object",
      { bound_service_account_namespace_selector: "a" },
      "must be an object in JSON or YAML",
    ],
    [
      "with a selector of two documents",
      { bound_service_account_namespace_selector: "a: b\n---\na: b" },
      "must be an object",
    ],
    ["with a misspelled bound", { bound_service_account_name: "api" }, "bound_service_account_name"],
    ["with a bound that is not here", { bound_service_account_uid: "x" }, "bound_service_account_uid"],
    ["with a wrong token field", { token_ttl: "2h", token_max_ttl: "1h" }, "cannot be greater"],
    [
      "with too many names",
      { bound_service_account_names: Array.from({ length: 501 }, (_, n) => `a${n}`) },
      "at most 500",
    ],
    ["with a long audience", { audience: "x".repeat(2000) }, "audience must not be longer"],
  ])("is refused %s", async (_, fields, message) => {
    const { write } = await mountKubernetes(root, "roles", server);
    expect(refusalOf(await write("role/other", { ...LEAST, ...fields }))).toEqual([
      400,
      expect.stringContaining(message),
    ]);
  });

  it("keeps what is not sent, or sent as null, but for a list", async () => {
    const { write, read } = await mountKubernetes(root, "changing", server);
    const all = { ...LEAST, audience: "grove", ...selector({ matchLabels: { team: "web" } }) };
    await write("role/Full", all);
    await write("role/full", { bound_service_account_namespaces: null, audience: null, token_ttl: "5m" });
    expect((await read("role/full")).body.data).toMatchObject({
      bound_service_account_names: ["api"],
      bound_service_account_namespaces: [],
      bound_service_account_namespace_selector: all.bound_service_account_namespace_selector,
      audience: "grove",
      alias_name_source: "serviceaccount_uid",
      token_ttl: 300,
    });
    expect((await call("GET", "auth/changing/role?list=true", { token: root })).body.data.keys).toEqual([
      "full",
      "web",
    ]);
    await call("DELETE", "auth/changing/role/FULL", { token: root });
    expect((await read("role/full")).status).toBe(404);
  });
});

const LEAST = { bound_service_account_names: "api", bound_service_account_namespaces: "web" };

function selector(value: unknown) {
  return { bound_service_account_namespace_selector: JSON.stringify(value) };
}
