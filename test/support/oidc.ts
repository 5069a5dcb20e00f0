import { vi } from "vitest";
import { CLIENT, type FakeProvider } from "./fake-provider.ts";
import { call } from "./service.ts";

/** Where the command listens. */
export const COMMAND = "http://localhost:8250/oidc/callback";
/** A page of the console. */
export const PAGE = "https://grove.example.com/ui/signed-in";

/** Lets these providers be the outside. */
export function serveProviders(...providers: readonly FakeProvider[]): void {
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    for (const provider of providers) {
      const answer = await provider.answer(request);
      if (answer) return answer;
    }
    throw new TypeError("Network connection lost");
  });
}

interface Options {
  readonly type?: string;
  readonly config?: Record<string, unknown>;
  readonly role?: Record<string, unknown>;
}

/** A mount whose role `web` takes logins through a browser at a provider. */
export async function mountOidc(
  root: string,
  path: string,
  provider: FakeProvider,
  { type = "oidc", config = {}, role = {} }: Options = {},
) {
  const post = (to: string, body: unknown = {}, token = root) => call("POST", to, { token, body });
  await post(`sys/auth/${path}`, { type });
  const written = [
    await post(`auth/${path}/config`, {
      oidc_discovery_url: provider.host,
      oidc_client_id: CLIENT.id,
      oidc_client_secret: CLIENT.secret,
      ...config,
    }),
    await post(`auth/${path}/role/web`, {
      role_type: "oidc",
      user_claim: "sub",
      allowed_redirect_uris: [COMMAND, PAGE],
      token_policies: "ci",
      token_ttl: "10m",
      ...role,
    }),
  ];
  if (written.some(({ status }) => status !== 204)) throw new Error(JSON.stringify(written.map(({ body }) => body)));
  const answerOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => ({
    status,
    auth: body?.auth,
    data: body?.data,
    error: String(body?.errors?.[0] ?? ""),
  });
  const open = async (below: string, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
    answerOf(await call("POST", `auth/${path}/${below}`, { body, headers }));
  const begin = (fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    open("oidc/auth_url", { role: "web", redirect_uri: COMMAND, client_nonce: "of-the-client", ...fields }, headers);
  const callback = async (fields: Record<string, string>) =>
    answerOf(
      await call(
        "GET",
        `auth/${path}/oidc/callback?${new URLSearchParams({ client_nonce: "of-the-client", ...fields })}`,
      ),
    );
  return {
    post,
    begin,
    callback,
    open,
    write: (below: string, body: unknown) => post(`auth/${path}/${below}`, body),
    read: (below: string) => call("GET", `auth/${path}/${below}`, { token: root }),
    /** The address of a login that was begun. */
    async authUrl(fields: Record<string, unknown> = {}): Promise<string> {
      const begun = await begin(fields);
      if (begun.status !== 200) throw new Error(begun.error);
      return String(begun.data?.auth_url);
    },
    /** A whole login of a person with these claims. */
    async login(claims: Readonly<Record<string, unknown>> = { sub: "ann" }, fields: Record<string, unknown> = {}) {
      const { state, code } = provider.signIn(await this.authUrl(fields), claims);
      return callback({ state, code });
    },
  };
}
