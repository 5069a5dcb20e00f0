import { CLUSTER, type FakeApiServer } from "./fake-api-server.ts";
import { call } from "./service.ts";

export const REVIEWER = "reviewer.of.grove";

/** A mount of the kubernetes method whose reviewer may do all that it needs, with the role `web`. */
export async function mountKubernetes(
  root: string,
  path: string,
  server: FakeApiServer,
  { config = {}, role = {} }: { config?: Record<string, unknown>; role?: Record<string, unknown> } = {},
) {
  server.reviewers.set(REVIEWER, new Set(["review", "accounts", "namespaces"] as const));
  const post = (to: string, body: unknown = {}, token = root) => call("POST", to, { token, body });
  await post(`sys/auth/${path}`, { type: "kubernetes" });
  const written = [
    await post(`auth/${path}/config`, { kubernetes_host: CLUSTER, token_reviewer_jwt: REVIEWER, ...config }),
    await post(`auth/${path}/role/web`, {
      bound_service_account_names: "api",
      bound_service_account_namespaces: "web",
      token_policies: "ci",
      token_ttl: "10m",
      ...role,
    }),
  ];
  if (written.some(({ status }) => status !== 204)) throw new Error(JSON.stringify(written.map(({ body }) => body)));
  return {
    post,
    write: (below: string, body: unknown) => post(`auth/${path}/${below}`, body),
    read: (below: string) => call("GET", `auth/${path}/${below}`, { token: root }),
    explain: (body: unknown) => post(`auth/${path}/explain/login`, body),
    renew: (token: string) => post("auth/token/renew-self", {}, token),
    async login(jwt: string, fields: Record<string, unknown> = { role: "web" }) {
      const answer = await call("POST", `auth/${path}/login`, { body: { jwt, ...fields } });
      const { auth, errors } = answer.body ?? {};
      return { status: answer.status, auth, error: String(errors?.[0] ?? ""), answer };
    },
  };
}
