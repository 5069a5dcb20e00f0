import { SELF } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAX_IN_FULL } from "../../../../src/audit/writer/refusal-bound.ts";
import { FakeProvider } from "../../../support/fake-provider.ts";
import { mountOidc, serveProviders } from "../../../support/oidc.ts";
import { call, dataOf, initialized } from "../../../support/service.ts";

let root: string;
let provider: FakeProvider;

beforeAll(async () => {
  root = await initialized();
  provider = await FakeProvider.start();
});

beforeEach(() => serveProviders(provider));

interface Event {
  readonly kind: string;
  readonly path: string;
}

async function eventsOf(mount: string): Promise<readonly Event[]> {
  const body = { mount: `auth/${mount}/`, path_prefix: `auth/${mount}/oidc/`, limit: 1000, order: "oldest" };
  const answer = await call("POST", "sys/audit/events", { token: root, body });
  return dataOf<{ events: readonly Event[] }>(answer).events;
}

const CALLBACK = "https://grove.example.com/v1/auth/steps-confirmed/oidc/callback";
/** More than what is kept in full. */
const MANY = MAX_IN_FULL + 20;

describe("a step of a login, which anybody can take", () => {
  it("is not wrapped, as a wrapping token is kept for as long as is asked", async () => {
    const { begin } = await mountOidc(root, "steps-wrapped", provider);
    const answer = await begin({}, { "X-Vault-Wrap-TTL": "8760h" });
    expect(answer).toMatchObject({ status: 200, data: { auth_url: expect.stringContaining("state=") } });
  });

  it("that begins logins does not push out what the audit store has", async () => {
    const { begin } = await mountOidc(root, "steps-begun", provider);
    const headers = { "CF-Connecting-IP": "198.51.100.1" };
    for (let at = 0; at < MANY; at++) expect((await begin({}, headers)).status).toBe(200);
    expect(await eventsOf("steps-begun")).toHaveLength(MAX_IN_FULL);
  });

  it("that confirms no login does not either", async () => {
    await mountOidc(root, "steps-confirmed", provider);
    const body = JSON.stringify({ state: "x", confirmation: "x" });
    const headers = { "CF-Connecting-IP": "198.51.100.2" };
    for (let at = 0; at < MANY; at++) {
      const page = await SELF.fetch(CALLBACK, { method: "POST", body, headers });
      expect([page.status, await page.text()]).toEqual([400, expect.stringContaining("<!doctype html>")]);
    }
    expect(await eventsOf("steps-confirmed")).toHaveLength(MAX_IN_FULL);
  });

  it("asks a provider that answers slowly once for all that are taken at the same time", async () => {
    const { begin } = await mountOidc(root, "steps-slow", provider, { config: { skip_jwks_validation: true } });
    let asked = 0;
    provider.instead = async ({ pathname }) => {
      if (pathname !== "/.well-known/openid-configuration") return undefined;
      asked++;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return undefined;
    };
    const answers = await Promise.all(Array.from({ length: 40 }, () => begin()));
    provider.instead = null;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked).toBe(1);
  });

  it("is an event of a login, and so is the one that gives the token", async () => {
    const mount = await mountOidc(root, "steps-kind", provider);
    expect((await mount.login()).status).toBe(200);
    expect(await eventsOf("steps-kind")).toMatchObject([
      { kind: "login", path: "auth/steps-kind/oidc/auth_url" },
      { kind: "login", path: "auth/steps-kind/oidc/callback" },
    ]);
  });
});
