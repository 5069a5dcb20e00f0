import vault from "node-vault";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statusOf } from "./support/node-vault.ts";
import { type RunningServer, startServe } from "./support/server.ts";

type Client = ReturnType<typeof vault>;

/** A real client, through the gateway. It lists with the verb LIST, which the platform itself refuses. */
describe("node-vault", () => {
  let server: RunningServer;

  const client = (token: string): Client => vault({ endpoint: server.address, token });
  // A new one each time: node-vault goes on with the token that a call returned.
  const root = () => client(server.rootToken);

  beforeAll(async () => {
    server = await startServe();
  });
  afterAll(() => server.stop());

  it("reads the state of the service", async () => {
    expect(await root().initialized()).toEqual({ initialized: true });
    expect(await root().status()).toMatchObject({ sealed: false, initialized: true });
    expect(await root().health()).toMatchObject({ initialized: true, sealed: false });
  });

  it("creates, looks up, renews and revokes tokens, with cascade", async () => {
    const made = await root().tokenCreate({ policies: ["default"], ttl: "1h", meta: { team: "edge" } });
    const token = made.auth.client_token as string;
    expect(made.auth).toMatchObject({ policies: ["default"], lease_duration: 3600, metadata: { team: "edge" } });
    const own = client(token);
    expect((await own.tokenLookupSelf()).data).toMatchObject({ id: token, policies: ["default"], orphan: false });
    expect((await root().tokenLookup({ token })).data.path).toBe("auth/token/create");
    expect((await root().tokenLookupAccessor({ accessor: made.auth.accessor })).data.id).toBe("");
    expect((await root().tokenRenew({ token, increment: "2h" })).auth.lease_duration).toBe(7200);
    expect((await own.tokenRenewSelf({ increment: "30m" })).auth.lease_duration).toBe(1800);

    const maker = (await root().tokenCreate({ policies: ["root"], ttl: "1h" })).auth.client_token as string;
    const child = (await client(maker).tokenCreate({ ttl: "10m" })).auth.client_token as string;
    await root().tokenRevoke({ token: maker });
    expect(await statusOf(client(child).tokenLookupSelf())).toBe(403);
    await own.tokenRevokeSelf();
    expect(await statusOf(own.tokenLookupSelf())).toBe(403);
  });

  it("makes orphans, and revokes a token without its children", async () => {
    const orphan = await root().tokenCreateOrphan({ policies: ["root"], ttl: "1h" });
    expect(orphan.auth.orphan).toBe(true);
    const child = (await client(orphan.auth.client_token).tokenCreate({ ttl: "10m" })).auth.client_token as string;
    await root().tokenRevokeOrphan({ token: orphan.auth.client_token });
    expect((await client(child).tokenLookupSelf()).data.orphan).toBe(true);
  });

  it("lists accessors with LIST, and revokes by accessor", async () => {
    const { auth } = await root().tokenCreate({ policies: ["default"], ttl: "1h" });
    const listed = await root().tokenAccessors();
    expect(listed.data.keys).toContain(auth.accessor);
    await root().tokenRevokeAccessor({ accessor: auth.accessor });
    expect(await statusOf(client(auth.client_token).tokenLookupSelf())).toBe(403);
  });

  it("writes, reads, lists and deletes policies", async () => {
    const rules = 'path "cubbyhole/*" { capabilities = ["read", "list"] }';
    await root().addPolicy({ name: "reader", rules });
    expect((await root().getPolicy({ name: "reader" })).data.rules).toBe(rules);
    expect((await root().policies()).data.keys).toContain("reader");
    await root().removePolicy({ name: "reader" });
    expect(await statusOf(root().getPolicy({ name: "reader" }))).toBe(404);
  });

  it("keeps values in the cubbyhole, and lists them with LIST", async () => {
    await root().write("cubbyhole/a/b", { color: "green" });
    expect((await root().read("cubbyhole/a/b")).data).toEqual({ color: "green" });
    expect((await root().list("cubbyhole/a")).data.keys).toEqual(["b"]);
    await root().delete("cubbyhole/a/b");
    expect(await statusOf(root().read("cubbyhole/a/b"))).toBe(404);
  });
});
