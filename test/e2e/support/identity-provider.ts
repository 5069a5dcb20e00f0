import { createServer, type Server, type ServerResponse } from "node:http";
import Provider from "oidc-provider";
import type { Page } from "playwright-core";
import { freePort } from "../../support/free-port.ts";

/** The client as which Grove is registered there. */
export const CLIENT = { id: "grove", secret: "a-secret-of-the-client-that-is-long-enough" } as const;

/** A real identity provider on this machine. Whoever signs in is who they say. */
export interface IdentityProvider {
  readonly issuer: string;
  /** From now on its token endpoint gives the ID token of its last answer again, in the place of the new one, or not. */
  replayIdTokens(replays: boolean): void;
  stop(): Promise<void>;
}

/** @param redirectUris where it sends browsers back to */
export async function startIdentityProvider(redirectUris: readonly string[]): Promise<IdentityProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [...redirectUris],
        grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
        response_types: ["code"],
      },
    ],
    claims: { openid: ["sub"], email: ["email"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["of-the-tests"] },
    features: { deviceFlow: { enabled: true } },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com` }),
    }),
    pkce: { required: () => true },
  });
  const answer = provider.callback();
  let lastIdToken = "";
  let replays = false;
  const replaying = (body: string): string => {
    const tokens = JSON.parse(body);
    if (typeof tokens.id_token !== "string") return body;
    if (replays) return JSON.stringify({ ...tokens, id_token: lastIdToken });
    lastIdToken = tokens.id_token;
    return body;
  };
  const server: Server = createServer((request, response) => {
    if (request.url === "/token") changeBody(response, replaying);
    return answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    replayIdTokens(wanted) {
      replays = wanted;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Has an answer that is sent whole end with another body. */
function changeBody(response: ServerResponse, change: (body: string) => string): void {
  const end = response.end.bind(response);
  response.end = (body?: unknown): ServerResponse => {
    const text = change(String(body));
    response.setHeader("Content-Length", Buffer.byteLength(text));
    return end(text);
  };
}

/** Signs a person in on the pages of the provider, and lets Grove know who it is. */
export async function signInThere(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder(/login/i).fill(name);
  await page.getByPlaceholder(/password/i).fill("any");
  await page.getByRole("button", { name: /sign-in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
}

/** Most pages and redirects of one visit. */
const MAX_STEPS = 20;

/**
 * Signs a person in and consents without a browser, by the redirects and forms of the provider. Resolves to the address
 * outside the provider that it sends the person to; "" when its last page has no form.
 */
export async function consentThere(address: string, name: string): Promise<string> {
  const { origin } = new URL(address);
  const cookies = new Map<string, { readonly path: string; readonly pair: string }>();
  let [url, form]: [URL, URLSearchParams | null] = [new URL(address), null];
  for (let step = 0; step < MAX_STEPS; step++) {
    const { pathname } = url;
    const sent = [...cookies.values()].filter(({ path }) => pathname.startsWith(path)).map(({ pair }) => pair);
    const headers = { Cookie: sent.join("; ") };
    const response: Response = await fetch(url, {
      redirect: "manual",
      headers,
      ...(form && { method: "POST", body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ""] = cookie.split(";");
      const path = /; path=([^;]+)/i.exec(cookie)?.[1] ?? "/";
      cookies.set(`${pair.split("=")[0]} ${path}`, { path, pair });
    }
    const location = response.headers.get("Location");
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    form = null;
    if (location === null && action === undefined) {
      if (response.ok) return "";
      throw new Error(`the provider answered ${response.status}: ${page}`);
    }
    if (location === null) form = fieldsOf(page, name);
    url = new URL(location ?? action ?? "", url);
    if (url.origin !== origin) return url.href;
  }
  throw new Error("the provider comes to no end");
}

/** What a person fills in. */
function fieldsOf(page: string, name: string): URLSearchParams {
  const typed: Readonly<Record<string, string>> = { login: name, password: "any" };
  const fields = new URLSearchParams();
  for (const [input] of page.matchAll(/<input[^>]*>/g)) {
    const field = / name="([^"]+)"/.exec(input)?.[1] ?? "";
    fields.set(field, typed[field] ?? /[\s]value="([^"]*)"/.exec(input)?.[1] ?? "");
  }
  return fields;
}
