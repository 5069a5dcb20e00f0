import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type AppRoleMount, mountAppRole } from "../../../support/app-role.ts";
import { call, initialized, tokenUnder } from "../../../support/service.ts";

// What was published of the approle method of products of this kind, refused here. docs/security.md names these tests.

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "approle");
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a vulnerability of other servers in logins by approle", () => {
  it("an accessor of another role destroys and shows nothing", async () => {
    const roleId = await mount.role("payments");
    await mount.role("mine");
    const { secret_id, secret_id_accessor } = await mount.secretId("payments");
    const token = await tokenUnder(root, 'path "auth/approle/role/mine/*" { capabilities = ["update", "delete"] }');
    for (const path of ["secret-id-accessor/destroy", "secret-id-accessor/lookup"]) {
      expect((await mount.ask("POST", `role/mine/${path}`, { secret_id_accessor }, token)).status).toBe(404);
    }
    const deletion = `role/mine/secret-id-accessor/destroy?secret_id_accessor=${secret_id_accessor}`;
    expect((await mount.ask("DELETE", deletion, undefined, token)).status).toBe(404);
    expect((await mount.ask("POST", "role/mine/secret-id/destroy", { secret_id }, token)).status).toBe(204);
    expect((await mount.login(roleId, secret_id)).status).toBe(200);
  });

  it("a secret-id is refused from its end on, also one that no tidy can remove", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const roleId = await mount.role("short", { secret_id_ttl: 60 });
    const { secret_id } = await mount.secretId("short");
    vi.setSystemTime(start + 60_000);
    for (let login = 0; login < 2; login++) expect((await mount.login(roleId, secret_id)).status).toBe(400);
  });

  it("no line of the log has a secret-id, a role-id or a token of a login", async () => {
    const written: string[] = [];
    for (const level of ["log", "error", "warn"] as const) {
      vi.spyOn(console, level).mockImplementation((...parts) => void written.push(parts.map(String).join(" ")));
    }
    const roleId = await mount.role("logged", { secret_id_num_uses: 3 });
    const { secret_id, secret_id_accessor } = await mount.secretId("logged");
    const custom = `chosen-${crypto.randomUUID()}`;
    await mount.ask("POST", "role/logged/custom-secret-id", { secret_id: custom });
    await mount.ask("POST", "role/logged/secret-id/lookup", { secret_id });
    await call("POST", "auth/approle/explain/login", { token: root, body: { role_id: roleId, secret_id } });
    await call("POST", "auth/approle/login", { body: { role_id: secret_id, secret_id: roleId } });
    const { auth } = (await mount.login(roleId, secret_id)).body;
    // The token as a login answers it would be as good as the secret-id.
    await mount.ask("POST", "role/logged/secret-id/destroy", { secret_id });
    vi.restoreAllMocks();
    const log = written.join("\n");
    expect(log).toContain("auth/approle/login");
    for (const secret of [secret_id, custom, auth.client_token]) expect(log).not.toContain(secret);
    // Who logged in is on record by the accessor.
    expect(log).toContain(`"principal":"${secret_id_accessor}"`);
  });

  it.each([
    [{ role_id: 7, secret_id: 7 }],
    [{ role_id: ["a"], secret_id: "b" }],
    [{ role_id: { a: 1 }, secret_id: null }],
    [{ role_id: "a", secret_id: { b: 1 } }],
    [{ role_id: null }],
    [{}],
  ])("a login with fields of other types is refused: %j", async (body) => {
    expect((await call("POST", "auth/approle/login", { body })).status).toBe(400);
  });
});
