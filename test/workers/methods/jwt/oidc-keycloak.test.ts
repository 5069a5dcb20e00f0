import { beforeAll, describe, expect, it } from "vitest";
import { FakeProvider } from "../../../support/fake-provider.ts";
import { mountOidc, PAGE, serveProviders } from "../../../support/oidc.ts";
import { initialized } from "../../../support/service.ts";

let root: string;
let keycloak: FakeProvider;

beforeAll(async () => {
  root = await initialized();
  keycloak = await FakeProvider.startKeycloak();
  serveProviders(keycloak);
});

/** The ID token of a person, as the realm signs it. */
const ANN = { sub: "3a9e8605", typ: "ID", azp: "grove", sid: "s", acr: "1", preferred_username: "ann" };
const staff = { bound_claims: { groups: "/staff" }, claim_mappings: { preferred_username: "name" } };

describe("a realm of Keycloak", () => {
  it("signs people of a group in, by the whole path of the group", async () => {
    const mount = await mountOidc(root, "realm", keycloak, { role: staff });
    const login = (groups?: readonly string[]) => mount.login({ ...ANN, ...(groups && { groups }) });
    expect(await login(["/admins", "/staff"])).toMatchObject({
      status: 200,
      auth: { metadata: { name: "ann", role: "web" } },
    });
    for (const others of [["/contractors/staff"], ["staff"], [], undefined]) {
      expect((await login(others)).error).toMatch(/claim "groups" (is missing|does not match)/);
    }
  });

  it("always names itself in its answers, so a page takes none that does not", async () => {
    const mount = await mountOidc(root, "realm-named", keycloak);
    const answered = async (more: Record<string, string>) => {
      const { state, code } = keycloak.signIn(await mount.authUrl({ redirect_uri: PAGE }), ANN);
      return mount.callback({ state, code, ...more });
    };
    expect((await answered({})).error).toContain("(iss)");
    expect((await answered({ iss: "https://sso.example.com/realms/other" })).error).toContain("(iss)");
    expect((await answered({ iss: keycloak.host })).status).toBe(200);
  });

  it("begins a login on any device with an address that has the code", async () => {
    const role = { callback_mode: "device", allowed_redirect_uris: [] };
    const mount = await mountOidc(root, "realm-device", keycloak, { role });
    expect((await mount.begin()).data).toEqual({
      auth_url: `${keycloak.host}/device?user_code=WDJB-MJHT`,
      poll_interval: "5",
      state: expect.any(String),
    });
  });
});
