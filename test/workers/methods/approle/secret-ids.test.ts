import { beforeAll, describe, expect, it, vi } from "vitest";
import { type AppRoleMount, type MadeSecretId, mountAppRole } from "../../../support/app-role.ts";
import { rowsOf } from "../../../support/rows.ts";
import { call, dataOf, initialized, keysOf } from "../../../support/service.ts";
import { changeRows, deleteRows, insertRows } from "../../../support/storage-writer.ts";

let root: string;
let mount: AppRoleMount;

beforeAll(async () => {
  root = await initialized();
  mount = await mountAppRole(root, "approle");
  await mount.role("web", { secret_id_num_uses: 5, secret_id_ttl: "1h", secret_id_bound_cidrs: "192.0.2.0/24" });
  await mount.role("free");
});

describe("a secret-id", () => {
  it("has the limits of its role, or less", async () => {
    expect(await mount.secretId("web")).toMatchObject({ secret_id_num_uses: 5, secret_id_ttl: 3600 });
    expect(await mount.secretId("web", { num_uses: 1, ttl: "5m" })).toMatchObject({
      secret_id_num_uses: 1,
      secret_id_ttl: 300,
    });
    expect(await mount.secretId("free", { num_uses: 2 })).toMatchObject({ secret_id_num_uses: 2, secret_id_ttl: 0 });
  });

  it("lives no longer than the mount allows", async () => {
    const { secret_id_ttl } = await mount.secretId("free", { ttl: "10000h" });
    expect(secret_id_ttl).toBe(768 * 3600);
  });

  it.each([
    ["more uses than the role", { num_uses: 6 }],
    ["any number of uses where the role has a limit", { num_uses: 0 }],
    ["a longer life than the role", { ttl: "2h" }],
    ["no end where the role has one", { ttl: 0 }],
    ["negative uses", { num_uses: -1 }],
    ["a network outside of the role's", { cidr_list: "192.0.0.0/16" }],
    ["a network that is none", { cidr_list: "here" }],
    ["metadata that are no strings", { metadata: { a: 1 } }],
    ["metadata that can't be read", { metadata: "a" }],
    ["metadata that are too large", { metadata: { a: "x".repeat(20_000) } }],
  ])("is not made with %s", async (_, fields) => {
    expect((await mount.ask("POST", "role/web/secret-id", fields)).status).toBe(400);
  });

  it("is looked up by its text and by its accessor, with its metadata in any of their forms", async () => {
    for (const metadata of [{ env: "prod" }, '{"env": "prod"}', "env=prod", btoa('{"env": "prod"}')]) {
      const made = await mount.secretId("web", { metadata, cidr_list: ["192.0.2.8/29"] });
      const found = await mount.ask("POST", "role/web/secret-id/lookup", { secret_id: made.secret_id });
      expect(found.body.data).toMatchObject({
        secret_id_accessor: made.secret_id_accessor,
        secret_id_num_uses: 5,
        secret_id_ttl: 3600,
        metadata: { env: "prod" },
        cidr_list: ["192.0.2.8/29"],
        token_bound_cidrs: [],
      });
      const byAccessor = await mount.ask("POST", "role/web/secret-id-accessor/lookup", {
        secret_id_accessor: made.secret_id_accessor,
      });
      expect(byAccessor.body.data).toEqual(found.body.data);
      expect(JSON.stringify(found.body)).not.toContain(made.secret_id);
    }
  });

  it("that there is not is 204 by its text, and 404 by its accessor", async () => {
    const absent = { secret_id: "absent" };
    expect((await mount.ask("POST", "role/web/secret-id/lookup", absent)).status).toBe(204);
    expect((await mount.ask("POST", "role/web/secret-id/destroy", absent)).status).toBe(204);
    for (const accessor of ["absent", crypto.randomUUID()]) {
      const named = { secret_id_accessor: accessor };
      expect((await mount.ask("POST", "role/web/secret-id-accessor/lookup", named)).status).toBe(404);
      expect((await mount.ask("POST", "role/web/secret-id-accessor/destroy", named)).status).toBe(404);
    }
    expect((await mount.ask("POST", "role/absent/secret-id/lookup", absent)).status).toBe(404);
    const made = await mount.ask("POST", "role/absent/secret-id");
    expect([made.status, made.body.errors]).toEqual([404, ["the role does not exist"]]);
  });

  it("can be chosen, once for a role", async () => {
    const custom = (role: string) =>
      mount.ask("POST", `role/${role}/custom-secret-id`, { secret_id: "of the operator's choice", metadata: "a=b" });
    expect(dataOf<MadeSecretId>(await custom("web")).secret_id).toBe("of the operator's choice");
    expect((await custom("web")).body.errors).toEqual(["SecretID is already registered"]);
    expect((await custom("free")).status).toBe(200);
    for (const secret_id of ["", " ", "x".repeat(4097)]) {
      expect((await mount.ask("POST", "role/web/custom-secret-id", { secret_id })).status).toBe(400);
    }
  });

  it("is not replaced when somebody has changed its row", async () => {
    const custom = () => mount.ask("POST", "role/free/custom-secret-id", { secret_id: "changed in the storage" });
    const { secret_id_accessor: accessor } = dataOf<MadeSecretId>(await custom());
    await changeRows(await mount.shardOf(accessor), "secret_ids", { value: "{}" }, { accessor });
    expect((await custom()).body.errors).toEqual(["SecretID is already registered"]);
  });

  it("is not made for a role that needs none", async () => {
    await mount.role("open", { bind_secret_id: false, secret_id_bound_cidrs: "192.0.2.0/24" });
    expect((await mount.ask("POST", "role/open/secret-id", {})).body.errors).toEqual([
      "bind_secret_id is not set on the role",
    ]);
  });

  it("is stored as a keyed hash alone", async () => {
    const made = await mount.secretId("free", { metadata: "kept=yes" });
    const rows = JSON.stringify(await rowsOf(await mount.shardOf(made.secret_id_accessor), "secret_ids"));
    expect(rows).toContain(made.secret_id_accessor);
    expect(rows).not.toContain(made.secret_id);
  });

  it("is delivered wrapped, with its accessor beside the wrapping token", async () => {
    const headers = { "X-Vault-Wrap-TTL": "60" };
    const wrapped = await call("POST", "auth/approle/role/free/secret-id", { token: root, headers });
    const { token, wrapped_accessor } = wrapped.body.wrap_info;
    expect(
      (await mount.ask("POST", "role/free/secret-id-accessor/lookup", { secret_id_accessor: wrapped_accessor })).status,
    ).toBe(200);
    const unwrapped = await call("POST", "sys/wrapping/unwrap", { token });
    expect(dataOf<MadeSecretId>(unwrapped).secret_id_accessor).toBe(wrapped_accessor);
  });
});

describe("the secret-ids of a role", () => {
  it("are listed by accessor, page by page", async () => {
    await mount.role("listed");
    expect((await mount.ask("LIST", "role/listed/secret-id")).status).toBe(404);
    const made = await Promise.all(Array.from({ length: 40 }, () => mount.secretId("listed")));
    const accessors = made.map(({ secret_id_accessor }) => secret_id_accessor).sort();
    expect(keysOf(await mount.ask("LIST", "role/listed/secret-id"))).toEqual(accessors);
    const paged: string[] = [];
    for (let after = ""; paged.length < accessors.length; after = paged.at(-1) ?? "") {
      const page = keysOf(await mount.ask("LIST", `role/listed/secret-id?limit=7&after=${after}`));
      expect(page.length).toBeLessThanOrEqual(7);
      paged.push(...page);
    }
    expect(paged).toEqual(accessors);
    expect((await mount.ask("LIST", `role/listed/secret-id?after=${paged.at(-1)}`)).status).toBe(404);
  });

  it("are found by their metadata, page by page", async () => {
    await mount.role("found");
    const metadata = (n: number) => ({ env: n % 2 === 0 ? "prod" : "dev", team: "a" });
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, n) => mount.secretId("found", { metadata: metadata(n) })),
    );
    const wanted = made.filter((_, n) => n % 2 === 0).map(({ secret_id_accessor }) => secret_id_accessor);
    type Found = { keys: string[]; key_info: Record<string, { metadata: unknown }>; next: string };
    const found: string[] = [];
    for (let after = "", pages = 0; pages < 20; pages++) {
      const body = { metadata: { env: "prod", team: "a" }, after, limit: 4 };
      const page = dataOf<Found>(await mount.ask("POST", "role/found/secret-id/find", body));
      expect(page.keys.length).toBeLessThanOrEqual(4);
      found.push(...page.keys);
      for (const key of page.keys) expect(page.key_info[key]?.metadata).toEqual({ env: "prod", team: "a" });
      if (page.next === "") break;
      after = page.next;
    }
    expect(found).toEqual(wanted.sort());
    const none = await mount.ask("POST", "role/found/secret-id/find", { metadata: { env: "prod", team: "b" } });
    expect(none.body.data).toMatchObject({ keys: [], next: "" });
    expect((await mount.ask("POST", "role/found/secret-id/find", {})).status).toBe(400);
  });

  it("are found behind as many others as a shard reads at once", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await mount.role("hidden");
    const { secret_id_accessor: accessor } = await mount.secretId("hidden", { metadata: { env: "prod" } });
    const shard = await mount.shardOf(accessor);
    const role = (await rowsOf(shard, "secret_ids")).find((row) => row.accessor === accessor)?.role ?? "";
    const before = { role, accessor: `${accessor.charAt(0)}!`, value: "{}" };
    const forged = Array.from({ length: 1_000 }, (_, number) => ({ ...before, hash: `${number}` }));
    await insertRows(shard, "secret_ids", forged);
    const found = await mount.ask("POST", "role/hidden/secret-id/find", { metadata: { env: "prod" } });
    expect(found.body.data).toMatchObject({ keys: [accessor], next: "" });
    await deleteRows(shard, "secret_ids", before);
  });
});

describe("the audit store", () => {
  const eventsOf = async (query: string) => {
    const answer = await call("GET", `sys/audit/events?order=oldest&${query}`, { token: root });
    return dataOf<{ events: { path: string; request_id: string; target_accessor?: string }[] }>(answer).events;
  };

  it("finds by the accessor of a secret-id who made it and who destroyed it", async () => {
    const { secret_id_accessor: accessor } = await mount.secretId("web");
    const custom = await mount.ask("POST", "role/web/custom-secret-id", { secret_id: "chosen-by-the-operator" });
    await mount.ask("POST", "role/web/secret-id-accessor/destroy", { secret_id_accessor: accessor });
    expect((await eventsOf(`accessor=${accessor}`)).map(({ path }) => path)).toEqual([
      "auth/approle/role/web/secret-id",
      "auth/approle/role/web/secret-id-accessor/destroy",
    ]);
    const { secret_id_accessor: chosen } = dataOf<MadeSecretId>(custom);
    expect(await eventsOf(`accessor=${chosen}`)).toMatchObject([
      { path: "auth/approle/role/web/custom-secret-id", target_accessor: chosen },
    ]);
  });

  it("finds by it each login, also one that is refused for its network, and which token it got", async () => {
    const roleId = await mount.role("watched");
    const { secret_id: text, secret_id_accessor: accessor } = await mount.secretId("watched", {
      cidr_list: "192.0.2.0/24",
    });
    const other = await mount.secretId("watched");
    const given = await mount.login(roleId, text, "192.0.2.9");
    expect(given.status).toBe(200);
    expect((await mount.login(roleId, text, "203.0.113.9")).status).toBe(400);
    expect((await mount.login(roleId, other.secret_id, "192.0.2.9")).status).toBe(200);
    const path = "auth/approle/login";
    await expect
      .poll(() => eventsOf(`accessor=${accessor}`))
      .toMatchObject([
        { path: "auth/approle/role/watched/secret-id", target_accessor: accessor },
        { path, status: 200, principal: accessor, response: { auth: { accessor: given.body.auth.accessor } } },
        { path, status: 400, principal: accessor, client_address: "203.0.113.9" },
      ]);
  });

  it("has no text that was sent in the place of an accessor", async () => {
    const { secret_id: text } = await mount.secretId("web");
    const refused = await mount.ask("POST", "role/web/secret-id-accessor/destroy", { secret_id_accessor: text });
    expect(refused.status).toBe(404);
    const [event] = await eventsOf(`request_id=${refused.headers.get("X-Request-Id")}`);
    expect(event).toMatchObject({ path: "auth/approle/role/web/secret-id-accessor/destroy" });
    expect(JSON.stringify(event)).not.toContain(text);
  });
});
