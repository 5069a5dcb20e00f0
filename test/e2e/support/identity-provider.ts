import { createServer, type Server } from "node:http";
import Provider from "oidc-provider";
import type { Page } from "playwright-core";
import { freePort } from "./server.ts";

/** The client as which Grove is registered there. */
export const CLIENT = { id: "grove", secret: "a-secret-of-the-client-that-is-long-enough" } as const;

/** A real identity provider on this machine. Whoever signs in is who they say. */
export interface IdentityProvider {
  readonly issuer: string;
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
  const server: Server = createServer(provider.callback());
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    issuer,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Signs a person in on the pages of the provider, and lets Grove know who it is. */
export async function signInThere(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder(/login/i).fill(name);
  await page.getByPlaceholder(/password/i).fill("any");
  await page.getByRole("button", { name: /sign-in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
}
