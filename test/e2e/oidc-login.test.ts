import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENT, consentThere, type IdentityProvider, startIdentityProvider } from "./support/identity-provider.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const REDIRECT = "http://localhost:8250/oidc/callback";
const CLIENT_NONCE = "a-secret-of-the-program-that-logs-in";

describe("a program logs in at an identity provider", () => {
  let server: RunningServer;
  let providers: readonly IdentityProvider[] = [];

  beforeAll(async () => {
    [server, ...providers] = await Promise.all([
      startServe({ flags: ["--allow-private-host=127.0.0.1"] }),
      startIdentityProvider([REDIRECT]),
      startIdentityProvider([REDIRECT]),
    ]);
    for (const [at, { issuer }] of providers.entries()) {
      await write(`sys/auth/people${at}`, { type: "oidc" });
      await write(`auth/people${at}/config`, {
        oidc_discovery_url: issuer,
        oidc_client_id: CLIENT.id,
        oidc_client_secret: CLIENT.secret,
      });
      const role = { role_type: "oidc", user_claim: "sub", token_ttl: "1h", allowed_redirect_uris: [REDIRECT] };
      await write(`auth/people${at}/role/staff`, role);
      await write(`auth/people${at}/role/device`, { ...role, callback_mode: "device", poll_interval: 1 });
    }
  });
  afterAll(async () => {
    await server?.stop();
    await Promise.all(providers.map((provider) => provider.stop()));
  });

  const write = async (path: string, body: unknown): Promise<void> => {
    const answer = await call(server, "POST", `/v1/${path}`, { token: server.rootToken, body });
    expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  };
  /** Begins a login. */
  const begin = async (mount: string, role: string): Promise<Record<string, string>> => {
    const body = { role, redirect_uri: REDIRECT, client_nonce: CLIENT_NONCE };
    const answer = await call(server, "POST", `/v1/auth/${mount}/oidc/auth_url`, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.data as Record<string, string>;
  };
  /** Begins a login and signs in at the provider. Resolves to what that sends to the program. */
  const answerOf = async (mount: string): Promise<Record<string, string>> => {
    const { auth_url = "" } = await begin(mount, "staff");
    const back = new URL(await consentThere(auth_url, "alice"));
    expect(`${back.origin}${back.pathname}`).toBe(REDIRECT);
    return Object.fromEntries(back.searchParams);
  };
  /** Brings the answer of the provider to the server. */
  const bring = (mount: string, answer: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams({ client_nonce: CLIENT_NONCE, ...answer });
    return call(server, "GET", `/v1/auth/${mount}/oidc/callback?${query}`);
  };
  const expectToken = async (body: Record<string, unknown>, name: string): Promise<void> => {
    const { client_token: token } = body.auth as { readonly client_token: string };
    const self = await call(server, "GET", "/v1/auth/token/lookup-self", { token });
    expect([self.status, (self.body.data as Record<string, unknown>).display_name]).toEqual([200, name]);
  };
  const refusal = (message: RegExp) => ({ status: 400, body: { errors: [expect.stringMatching(message)] } });

  it("by its browser, once, with the state and the secret that it began with", async () => {
    const { state = "", code = "", iss } = await answerOf("people0");
    expect(iss).toBe(providers[0]?.issuer);
    const another = { state, code, client_nonce: "of-another-program" };
    expect(await bring("people0", another)).toEqual(refusal(/^invalid client_nonce$/));
    expect(await bring("people0", { state: "another", code })).toEqual(refusal(/missing OAuth state/));
    expect(await bring("people1", { state, code })).toEqual(refusal(/missing OAuth state/));
    const { status, body } = await bring("people0", { state, code });
    expect(status, JSON.stringify(body)).toBe(200);
    await expectToken(body, "people0-alice");
    expect(await bring("people0", { state, code })).toEqual(refusal(/missing OAuth state/));
  });

  it("not by the answer of another issuer, whether or not it is named", async () => {
    const [named, unnamed, other] = [await answerOf("people0"), await answerOf("people0"), await answerOf("people1")];
    const { state = "" } = named;
    expect(await bring("people0", { ...other, state })).toEqual(refusal(/does not name the issuer that was asked/));
    const mixed = { state: unnamed.state ?? "", code: other.code ?? "" };
    expect(await bring("people0", mixed)).toEqual(refusal(/Error exchanging oidc code: invalid_grant/));
  });

  it("not with an ID token of an earlier login that the token endpoint gives again: its nonce is another", async () => {
    expect((await bring("people1", await answerOf("people1"))).status).toBe(200);
    const provider = providers[1];
    provider?.replayIdTokens(true);
    const replayed = await answerOf("people1");
    expect(await bring("people1", replayed)).toEqual(refusal(/invalid ID token nonce/));
    provider?.replayIdTokens(false);
    // The refused login has ended, and with a token of its own the next one succeeds.
    expect(await bring("people1", replayed)).toEqual(refusal(/missing OAuth state/));
    expect((await bring("people1", await answerOf("people1"))).status).toBe(200);
  });

  it("on another device, as soon as the person consents", async () => {
    const { auth_url = "", state = "" } = await begin("people0", "device");
    const poll = (client_nonce = CLIENT_NONCE) =>
      call(server, "POST", "/v1/auth/people0/oidc/poll", { body: { state, client_nonce } });
    expect(await poll()).toEqual(refusal(/^authorization_pending$/));
    expect(await consentThere(auth_url, "alice")).toBe("");
    expect(await poll("of-another-program")).toEqual(refusal(/^invalid client_nonce$/));
    let body: Record<string, unknown> = {};
    const asked = async () => {
      const answer = await poll();
      body = answer.body;
      return answer.status === 200 ? "token" : JSON.stringify(body);
    };
    await expect.poll(asked, { interval: 300, timeout: 30_000 }).toBe("token");
    await expectToken(body, "people0-alice");
    expect(await poll()).toEqual(refusal(/missing OAuth state/));
  });
});
