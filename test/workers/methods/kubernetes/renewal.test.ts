import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Account, FakeApiServer } from "../../../support/fake-api-server.ts";
import { mountKubernetes, REVIEWER } from "../../../support/kubernetes.ts";
import { call, initialized } from "../../../support/service.ts";

let root: string;
let server: FakeApiServer;

beforeAll(async () => {
  root = await initialized();
  server = await FakeApiServer.start();
});

beforeEach(() => {
  server.asked.length = 0;
  server.instead = null;
});

let mounts = 0;

/** A mount, an account of its own, and the token of its login. */
async function loggedIn(options: Parameters<typeof mountKubernetes>[3] = {}) {
  const number = ++mounts;
  const account = server.addAccount("web", `api-${number}`);
  const role = { bound_service_account_names: account.name, ...options.role };
  const mount = await mountKubernetes(root, `renewing-${number}`, server, { ...options, role });
  const { auth } = await mount.login(await server.tokenOf(account));
  server.asked.length = 0;
  return { ...mount, account, token: auth?.client_token as string };
}

const refusalOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, String(body.errors?.[0])];

describe("a renewal", () => {
  it("asks for the service account by the reviewer, and takes the role's terms of today", async () => {
    const { renew, write, account, token } = await loggedIn();
    await write("role/web", { token_ttl: "20m" });
    expect((await renew(token)).body.auth).toMatchObject({ lease_duration: 1200 });
    const path = `/api/v1/namespaces/web/serviceaccounts/${account.name}`;
    expect(server.asked).toEqual([{ method: "GET", path, bearer: REVIEWER, body: null }]);
  });

  it.each<[string, (account: Account) => void]>([
    ["is gone", (account) => server.removeAccount(account)],
    [
      "is another one of the same name",
      (account) => {
        server.removeAccount(account);
        server.addAccount("web", account.name);
      },
    ],
    [
      "is being deleted",
      (account) => {
        server.removeAccount(account);
        server.accounts.push({ ...account, deletionTimestamp: "2026-11-29T00:00:00Z" });
      },
    ],
  ])("is refused when the service account %s (CVE-2026-115356)", async (_, change) => {
    const { renew, account, token } = await loggedIn({ role: { alias_name_source: "serviceaccount_name" } });
    change(account);
    expect(refusalOf(await renew(token))).toEqual([400, "the service account does not exist any more"]);
    // Nor does anybody else renew it.
    const accessor = await call("POST", "auth/token/renew", { token: root, body: { token } });
    expect(accessor.status).toBe(400);
  });

  it("is refused where nobody can be asked, or may ask", async () => {
    const alone = await loggedIn({ config: { token_reviewer_jwt: "" } });
    expect(refusalOf(await alone.renew(alone.token))).toEqual([400, expect.stringContaining("log in again")]);
    const { renew, token } = await loggedIn();
    server.reviewers.set(REVIEWER, new Set(["review"]));
    expect(refusalOf(await renew(token))).toEqual([
      503,
      expect.stringContaining("token_reviewer_jwt do this, which takes get on serviceaccounts"),
    ]);
    for (const instead of [
      () => Response.json({ kind: "ServiceAccount" }),
      () => Response.json({ kind: "Status", metadata: {} }),
      () => new Response("", { status: 502 }),
      () => {
        throw new TypeError("Network connection lost");
      },
    ]) {
      server.instead = instead;
      expect((await renew(token)).status).toBe(503);
    }
  });

  it("is refused when the role, its bounds or the configuration no longer take the account", async () => {
    const { renew, write, token } = await loggedIn();
    await write("role/web", { bound_service_account_names: "other" });
    expect(refusalOf(await renew(token))).toEqual([400, "service account name not authorized"]);
    await write("role/web", { bound_service_account_names: "api-*", bound_service_account_namespaces: "prod" });
    expect(refusalOf(await renew(token))[1]).toBe("namespace not authorized");
    const selector = '{"matchLabels": {"team": "web"}}';
    await write("role/web", { bound_service_account_namespace_selector: selector });
    server.namespaces.web = { team: "web" };
    expect((await renew(token)).status).toBe(200);
    server.namespaces.web = {};
    expect((await renew(token)).status).not.toBe(200);
    await write("role/web", { bound_service_account_namespaces: "web" });
    expect((await renew(token)).status).toBe(200);
  });

  it("is refused without the role", async () => {
    const { renew, token } = await loggedIn();
    await call("DELETE", `auth/renewing-${mounts}/role/web`, { token: root });
    expect(refusalOf(await renew(token))).toEqual([400, "role web does not exist during renewal"]);
  });

  it("keeps the explicit maximum of the login", async () => {
    const { renew, write, token } = await loggedIn({ role: { token_explicit_max_ttl: "15m" } });
    await write("role/web", { token_ttl: "1h", token_explicit_max_ttl: "8h" });
    expect(Math.ceil(Number((await renew(token)).body.auth?.lease_duration) / 60)).toBe(15);
  });
});
