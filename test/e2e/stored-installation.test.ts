import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { DocumentSigner, documentOf } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { type RunningServer, startServe } from "./support/server.ts";
import {
  type Send,
  type StoredFacts,
  type StoredToken,
  sender,
  unpackInstallation,
} from "./support/stored-installation.ts";

const ARCHIVES = join(import.meta.dirname, "../data/installations");
const archives = await readdir(ARCHIVES);
const HOME = "111111111111";

describe.each(archives)("an installation that was stored by a release (%s)", (archive) => {
  let data: string;
  let facts: StoredFacts;
  let server: RunningServer;
  let cloud: FakeCloud;
  let cloudServer: CloudServer;
  let send: Send;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "grove-stored-"));
    facts = await unpackInstallation(join(ARCHIVES, archive), data);
    cloud = new FakeCloud();
    cloudServer = await serveCloud(cloud);
    server = await startServe({
      data,
      env: { GROVE_SEAL_KEY: facts.sealKey, GROVE_DEV_ROOT_TOKEN: facts.rootToken },
      flags: ["--allow-private-host=127.0.0.1"],
    });
    send = sender(server.address);
  });
  afterAll(async () => {
    await server?.stop();
    await cloudServer?.close();
    await rm(data, { recursive: true, force: true });
  });

  const statusOf = async (token: string) => (await send("GET", "/v1/auth/token/lookup-self", { token })).status;
  const asRoot = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, `/v1/${path}`, { token: facts.rootToken, ...(body !== undefined && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const read = async (path: string) => (await asRoot("GET", path)).data as Record<string, unknown>;
  const list = async (path: string) => ((await asRoot("LIST", path)).data as { keys: string[] }).keys;

  it("still knows every token, and the one that was revoked as such", async () => {
    const names = (Object.keys(facts.tokens) as StoredToken[]).filter((name) => name !== "wrapping");
    for (const name of names) expect([name, await statusOf(facts.tokens[name])]).toEqual([name, 200]);
    expect(await statusOf(facts.revoked)).toBe(403);
    expect(await list("auth/token/accessors")).toContain(facts.accessors.grandchild);
  });

  it("has every token in the inventory", async () => {
    const inventory = async () => {
      const { tokens } = (await read("sys/tokens?limit=1000")) as { tokens: { accessor: string }[] };
      return tokens.map(({ accessor }) => accessor).sort();
    };
    // Tokens of the test above come into both while they are read.
    const listed = await vi.waitFor(async () => {
      const accessors = (await list("auth/token/accessors")).sort();
      expect(await inventory()).toEqual(accessors);
      return accessors;
    }, 30_000);
    expect(listed).toContain(facts.accessors.grandchild);
  });

  it("shows tokens with all that they were made with", async () => {
    const self = async (token: string) => (await send("GET", "/v1/auth/token/lookup-self", { token })).body.data;
    expect(await self(facts.tokens.parent)).toMatchObject({
      display_name: "token-parent",
      meta: { team: "a" },
      policies: ["default", "stored"],
      orphan: true,
    });
    const century = 876_000 * 3600;
    expect(await self(facts.tokens.periodic)).toMatchObject({ period: century });
    expect(await self(facts.tokens.grandchild)).toMatchObject({ explicit_max_ttl: century, orphan: false });
    expect(await self(facts.tokens.ofRole)).toMatchObject({ role: "fleet", path: "auth/token/create/fleet/fleet" });
    expect(await self(facts.tokens.ofEntity)).toMatchObject({
      entity_id: facts.entityId,
      identity_policies: ["json", "timed"],
    });
  });

  it("renews tokens and makes children", async () => {
    const { child, periodic } = facts.tokens;
    expect((await send("POST", "/v1/auth/token/renew-self", { token: periodic, body: {} })).status).toBe(200);
    const made = await send("POST", "/v1/auth/token/create", { token: child, body: { ttl: "1h" } });
    expect(made.status).toBe(200);
    expect(await statusOf((made.body.auth as { client_token: string }).client_token)).toBe(200);
  });

  it("opens cubbyholes and wrapped answers", async () => {
    const { child, wrapping } = facts.tokens;
    const kept = await send("GET", "/v1/cubbyhole/of/child", { token: child });
    expect(kept.body.data).toEqual({ color: "green", list: [1, 2] });
    const listed = await send("LIST", "/v1/cubbyhole/of", { token: child });
    expect(listed.body.data).toEqual({ keys: ["child", "child/", "wrapped"] });
    const unwrapped = await send("POST", "/v1/sys/wrapping/unwrap", { token: wrapping });
    expect(unwrapped.body.data).toEqual({ color: "green", list: [1, 2] });
    expect((await send("POST", "/v1/sys/wrapping/unwrap", { token: wrapping })).status).toBe(400);
  });

  it("keeps policies, mounts and roles", async () => {
    expect(await list("sys/policies/acl")).toEqual(expect.arrayContaining(["default", "json", "stored", "timed"]));
    expect((await read("sys/policies/acl/stored")).policy).toContain("max_wrapping_ttl");
    expect(await read("sys/auth")).toMatchObject({
      "token/": { type: "token", accessor: facts.tokenMountAccessor, config: { max_lease_ttl: 876_000 * 3600 } },
      "cloud/": { type: "cloud", description: "the cloud mount" },
      "aws/": { type: "aws" },
    });
    expect(await read("auth/token/roles/fleet")).toMatchObject({
      allowed_policies: ["stored", "timed"],
      orphan: true,
      path_suffix: "fleet",
      token_bound_cidrs: ["127.0.0.0/8"],
    });
  });

  it("keeps entities, aliases and groups", async () => {
    expect(await read(`identity/entity/id/${facts.entityId}`)).toMatchObject({
      name: "robot",
      metadata: { k: "v" },
      policies: ["timed"],
      aliases: [{ name: "robot-1", mount_accessor: facts.tokenMountAccessor }],
      group_ids: expect.arrayContaining([facts.groupId]),
    });
    expect(await read("identity/group/name/robots")).toMatchObject({ member_entity_ids: [facts.entityId] });
    expect(await read("identity/group/name/machines")).toMatchObject({ member_group_ids: [facts.groupId] });
  });

  it("gives a token of an alias to the entity that had it before", async () => {
    const made = async (alias: string) => {
      const request = { token: facts.rootToken, body: { entity_alias: alias } };
      return (await send("POST", "/v1/auth/token/create/fleet", request)).body.auth as { entity_id: string };
    };
    expect((await made("robot-1")).entity_id).toBe(facts.entityId);
    const { entity_id: added } = await made("robot-new");
    expect(added).not.toBe(facts.entityId);
    expect((await made("ROBOT-NEW")).entity_id).toBe(added);
    expect(await list("identity/entity/id")).toEqual(expect.arrayContaining([facts.entityId, added]));
  });

  it("keeps teams and their tokens", async () => {
    const team = await send("GET", `/api/v2/teams/${facts.teamId}`, { token: facts.rootToken });
    expect(team.body.data).toMatchObject({ id: facts.teamId, attributes: { name: "builders" } });
    const teams = await send("GET", "/api/v2/organizations/stored/teams", { token: facts.rootToken });
    expect((teams.body.data as { id: string }[]).map(({ id }) => id)).toContain(facts.teamId);
    const details = await send("GET", "/api/v2/account/details", { token: facts.teamToken });
    expect(details.status).toBe(200);
    expect(await statusOf(facts.teamToken)).toBe(200);
    const found = await send("GET", "/api/v2/organizations/stored/teams?q=build", { token: facts.rootToken });
    expect(found.body.data).toHaveLength(1);
  });

  it.each(["cloud", "aws"] as const)("keeps what was configured at the %s mount, and who logged in", async (type) => {
    const [kind, certificate] = type === "cloud" ? ["vm", "cloud_public_cert"] : ["ec2", "aws_public_cert"];
    const at = `auth/${type}`;
    expect(await read(`${at}/config/client`)).toMatchObject({ sts_region: "us-east-1", max_retries: 2 });
    expect(await read(`${at}/config/identity`)).toMatchObject({ iam_alias: "unique_id", iam_metadata: ["client_arn"] });
    expect(await read(`${at}/config/certificate/own`)).toMatchObject({ type: "pkcs7" });
    expect(await list(`${at}/config/sts`)).toEqual(["222222222222"]);
    expect(await list(`${at}/roles`)).toEqual(["tagged", "web", "worker"]);
    expect(await read(`${at}/role/web`)).toMatchObject({ auth_type: kind, bound_account_id: [HOME] });
    expect(await list(`${at}/identity-accesslist`)).toEqual([facts.instanceId]);
    expect(await list(`${at}/roletag-denylist`)).toHaveLength(1);
    for (const token of Object.values(facts.logins[type])) expect(await statusOf(token)).toBe(200);

    // The cloud has another address by now. A new instance logs in there with the stored role.
    const key = cloud.world.addKey(cloud.world.addUser(HOME, `server-${type}`));
    const signer = new DocumentSigner();
    const { endpoint } = cloudServer;
    const client = {
      access_key: key.id,
      secret_key: key.secret,
      endpoint,
      iam_endpoint: endpoint,
      sts_endpoint: endpoint,
    };
    await asRoot("POST", `${at}/config/client`, client);
    await asRoot("POST", `${at}/config/certificate/own`, { [certificate ?? ""]: signer.pem, type: "pkcs7" });
    const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
    const login = await send("POST", `/v1/${at}/login`, { body: { role: "web", pkcs7, nonce: "n" } });
    expect(login.body.auth).toMatchObject({ token_policies: ["default", "timed"] });
  });

  it("knows the role tags that it made", async () => {
    const listed = (tag: string) => `auth/cloud/roletag-denylist/${encodeURIComponent(btoa(tag))}`;
    await read(listed(facts.deniedRoleTag));
    await asRoot("POST", listed(facts.roleTag));
    expect(await list("auth/cloud/roletag-denylist")).toHaveLength(2);
  });

  it("keeps leases of secrets, and revokes a whole tree with its leases", async () => {
    const lookup = await asRoot("POST", "sys/leases/lookup", { lease_id: facts.leaseId });
    expect(lookup.data).toMatchObject({ id: facts.leaseId });
    await asRoot("POST", "auth/token/revoke-accessor", { accessor: facts.accessors.parent });
    const { parent, child, grandchild, batchChild } = facts.tokens;
    for (const token of [parent, child, grandchild, batchChild]) expect(await statusOf(token)).toBe(403);
    expect(await statusOf(facts.tokens.batch)).toBe(200);
    const ended = await send("POST", "/v1/sys/leases/lookup", {
      token: facts.rootToken,
      body: { lease_id: facts.leaseId },
    });
    // Nobody answers at the target of the revocation, which may have been asked by now.
    if (ended.status === 400) return;
    expect(ended.body.data).toMatchObject({ ttl: 0, revoke_error: expect.stringMatching(/./) });
  });
});
