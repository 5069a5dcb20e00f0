import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, gzipSync } from "node:zlib";
import { DocumentSigner, documentOf, signCaller } from "../../support/cloud-login.ts";
import type { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { type Key, roleArn } from "../../support/fake-cloud/world.ts";

/** What is stored must still be alive when a later release opens it. */
const CENTURY = "876000h";
const HOME = "111111111111";

/** What a client remembers of an installation: enough to use everything in it later. */
export interface StoredFacts {
  readonly sealKey: string;
  readonly rootToken: string;
  readonly tokens: Readonly<Record<StoredToken, string>>;
  /** Accessors of some of the tokens. */
  readonly accessors: { readonly parent: string; readonly grandchild: string };
  /** A token that was revoked: it must stay so. */
  readonly revoked: string;
  readonly leaseId: string;
  readonly entityId: string;
  readonly groupId: string;
  readonly tokenMountAccessor: string;
  readonly teamId: string;
  readonly teamToken: string;
  /** A login at each cloud mount, by instance and by principal. */
  readonly logins: Readonly<Record<"cloud" | "aws", { readonly vm: string; readonly iam: string }>>;
  readonly instanceId: string;
  /** A role tag of the role `tagged`, on no list. */
  readonly roleTag: string;
  /** One that was put on the deny list. */
  readonly deniedRoleTag: string;
}

/** The tokens of a stored installation, by what is special about each. */
export type StoredToken =
  | "batch"
  | "batchChild"
  | "child"
  | "chosen"
  | "counted"
  | "grandchild"
  | "parent"
  | "periodic"
  | "ofEntity"
  | "ofRole"
  | "wrapping";

/** An answer of the server, parsed. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Sends a request. */
export type Send = (
  method: string,
  path: string,
  options?: { readonly token?: string; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Answer>;

/** A sender for the server at `address`. Bodies are JSON; an empty answer reads as `{}`. */
export function sender(address: string): Send {
  return async (method, path, { token, body, headers = {} } = {}) => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { ...headers, ...(token !== undefined && { "X-Vault-Token": token, Authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  };
}

/** Uses every feature that stores something, on a new installation. `cloudEndpoint` is where `cloud` answers. */
export async function fillInstallation(
  send: Send,
  {
    rootToken,
    sealKey,
    cloud,
    cloudEndpoint,
  }: { rootToken: string; sealKey: string; cloud: FakeCloud; cloudEndpoint: string },
): Promise<StoredFacts> {
  const write = async (path: string, body: unknown = {}, token = rootToken, headers: Record<string, string> = {}) => {
    const answer = await send("POST", `/v1/${path}`, { token, body, headers });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const authOf = (body: Record<string, unknown>) => body.auth as { client_token: string; accessor: string };
  const create = async (fields: Record<string, unknown>, token = rootToken, endpoint = "create") =>
    authOf(await write(`auth/token/${endpoint}`, { ttl: CENTURY, ...fields }, token));

  await write("sys/auth/token/tune", { max_lease_ttl: CENTURY, default_lease_ttl: CENTURY });
  const policy = `
    path "auth/token/*" { capabilities = ["create", "read", "update", "list", "sudo"] }
    path "cubbyhole/*" { capabilities = ["create", "read", "update", "delete", "list"] }
    path "secret/{{identity.entity.name}}/*" {
      capabilities = ["read", "list"]
      allowed_parameters = { "kind" = ["a", "b"] }
      max_wrapping_ttl = "1h"
    }
    path "sys/leases/*" { capabilities = ["create", "update", "sudo", "list"] }`;
  await write("sys/policies/acl/stored", { policy });
  await write("sys/policies/acl/timed", { policy: 'path "timed/*" { capabilities = ["read"] }', ttl: CENTURY });
  await write("sys/policies/acl/json", {
    policy: JSON.stringify({ path: { "json/+/x": { capabilities: ["deny"] } } }),
  });

  const policies = ["stored"];
  const parent = await create({ policies, meta: { team: "a" }, display_name: "parent" }, rootToken, "create-orphan");
  const child = await create({ policies, display_name: "child" }, parent.client_token);
  const grandchild = await create({ policies, explicit_max_ttl: CENTURY }, child.client_token);
  const periodic = await create({ policies, period: CENTURY, no_parent: true });
  const counted = await create({ policies, num_uses: 5 });
  const batch = await create({ policies, type: "batch", no_parent: true });
  const batchChild = await create({ policies, type: "batch" }, parent.client_token);
  const chosen = await create({ policies, id: "an-id-that-root-chose" });
  await write("auth/token/roles/fleet", {
    allowed_policies: "stored,timed",
    allowed_entity_aliases: "robot-*",
    orphan: true,
    token_period: CENTURY,
    path_suffix: "fleet",
    token_bound_cidrs: "127.0.0.0/8",
  });
  const ofRole = await create({ policies: ["timed"] }, rootToken, "create/fleet");
  const revoked = await create({ policies });
  await create({ policies }, revoked.client_token);
  await write("auth/token/revoke", { token: revoked.client_token });

  await write("cubbyhole/of/child", { color: "green", list: [1, 2] }, child.client_token);
  await write("cubbyhole/of/child/deeper", { n: 1 }, child.client_token);
  await write("cubbyhole/of/wrapped", { a: 1 }, child.client_token);
  const wrap = await send("GET", "/v1/cubbyhole/of/child", {
    token: child.client_token,
    headers: { "X-Vault-Wrap-TTL": CENTURY },
  });
  const wrapping = (wrap.body.wrap_info as { token: string }).token;

  const mounts = (await send("GET", "/v1/sys/auth", { token: rootToken })).body.data as Record<
    string,
    { accessor: string }
  >;
  const tokenMountAccessor = mounts["token/"]?.accessor ?? "";
  const dataOf = (body: Record<string, unknown>) => body.data as { id: string };
  const entityId = dataOf(
    await write("identity/entity", { name: "robot", policies: ["timed"], metadata: { k: "v" } }),
  ).id;
  await write("identity/entity-alias", { name: "robot-1", canonical_id: entityId, mount_accessor: tokenMountAccessor });
  const groupId = dataOf(
    await write("identity/group", { name: "robots", policies: ["json"], member_entity_ids: [entityId] }),
  ).id;
  await write("identity/group", { name: "machines", member_group_ids: [groupId] });
  const ofEntity = await create({ entity_alias: "robot-1", policies: ["timed"] }, rootToken, "create/fleet");

  const lease = await write("sys/leases/register", {
    token: parent.client_token,
    path: "db/creds/app",
    ttl: CENTURY,
    max_ttl: CENTURY,
    target: `${cloudEndpoint}/revoke`,
    data: { username: "v-app-1" },
  });

  const resource = (type: string, attributes: Record<string, unknown>, relationships = {}) => ({
    data: { type, attributes, relationships },
  });
  const api = async (path: string, body: unknown) => {
    const headers = { "Content-Type": "application/vnd.api+json" };
    const answer = await send("POST", `/api/v2/${path}`, { token: rootToken, body, headers });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.data as { id: string; attributes: Record<string, unknown> };
  };
  await api("organizations", resource("organizations", { name: "stored", email: "admin@example.com" }));
  const team = await api(
    "organizations/stored/teams",
    resource("teams", { name: "builders", "organization-access": { "manage-teams": true } }),
  );
  await api("organizations/stored/teams", resource("teams", { name: "readers" }));
  const teamToken = await api(`teams/${team.id}/authentication-token`, resource("authentication-token", {}));

  const logins: Record<string, { vm: string; iam: string }> = {};
  const signer = new DocumentSigner();
  const worker = cloud.world.addRole(HOME, "Worker");
  const session: Key = cloud.world.addSession(worker, "job", Date.now() + 3_600_000);
  const instance = cloud.world.addInstance(HOME, "eu-west-1");
  let roleTag = "";
  let deniedRoleTag = "";
  for (const { type, kind, certificate } of [
    { type: "cloud", kind: "vm", certificate: "cloud_public_cert" },
    { type: "aws", kind: "ec2", certificate: "aws_public_cert" },
  ]) {
    await write(`sys/auth/${type}`, { type, description: `the ${type} mount` });
    await write(`sys/auth/${type}/tune`, { max_lease_ttl: CENTURY, default_lease_ttl: CENTURY });
    const key = cloud.world.addKey(cloud.world.addUser(HOME, `server-${type}`));
    await write(`auth/${type}/config/client`, {
      access_key: key.id,
      secret_key: key.secret,
      endpoint: cloudEndpoint,
      iam_endpoint: cloudEndpoint,
      sts_endpoint: cloudEndpoint,
      sts_region: "us-east-1",
      max_retries: 2,
    });
    await write(`auth/${type}/config/identity`, { iam_alias: "unique_id", iam_metadata: ["client_arn"] });
    await write(`auth/${type}/config/certificate/own`, { [certificate]: signer.pem, type: "pkcs7" });
    await write(`auth/${type}/config/sts/222222222222`, { sts_role: "arn:aws:iam::222222222222:role/Gate" });
    await write(`auth/${type}/config/tidy/identity-accesslist`, { safety_buffer: CENTURY });
    await write(`auth/${type}/config/tidy/roletag-denylist`, { safety_buffer: CENTURY });
    await write(`auth/${type}/role/web`, {
      auth_type: kind,
      bound_account_id: HOME,
      token_policies: "timed",
      token_ttl: CENTURY,
    });
    await write(`auth/${type}/role/worker`, { bound_iam_principal_arn: roleArn(worker), token_policies: "timed" });
    await write(`auth/${type}/role/tagged`, {
      auth_type: kind,
      bound_account_id: HOME,
      role_tag: "Tag",
      token_policies: "timed",
    });
    const tag = async () =>
      (
        (await write(`auth/${type}/role/tagged/tag`, { policies: "timed", max_ttl: "1h" })).data as {
          tag_value: string;
        }
      ).tag_value;
    const denied = await tag();
    await write(`auth/${type}/roletag-denylist/${encodeURIComponent(Buffer.from(denied).toString("base64"))}`);
    if (type === "cloud") {
      roleTag = await tag();
      deniedRoleTag = denied;
    }
    const { pkcs7 } = signer.sign(documentOf(instance));
    const logIn = async (fields: Record<string, unknown>) => {
      const answer = await send("POST", `/v1/auth/${type}/login`, { body: fields });
      if (answer.status !== 200) throw new Error(`login: ${answer.status} ${JSON.stringify(answer.body)}`);
      return authOf(answer.body).client_token;
    };
    logins[type] = {
      vm: await logIn({ role: "web", pkcs7, nonce: "the-nonce" }),
      iam: await logIn({ role: "worker", ...(await signCaller(session)) }),
    };
  }
  return {
    sealKey,
    rootToken,
    tokens: {
      parent: parent.client_token,
      child: child.client_token,
      grandchild: grandchild.client_token,
      periodic: periodic.client_token,
      counted: counted.client_token,
      batch: batch.client_token,
      batchChild: batchChild.client_token,
      chosen: chosen.client_token,
      ofRole: ofRole.client_token,
      ofEntity: ofEntity.client_token,
      wrapping,
    },
    accessors: { parent: parent.accessor, grandchild: grandchild.accessor },
    revoked: revoked.client_token,
    leaseId: lease.lease_id as string,
    entityId,
    groupId,
    tokenMountAccessor,
    teamId: team.id,
    teamToken: teamToken.attributes.token as string,
    logins: logins as StoredFacts["logins"],
    instanceId: instance.id,
    roleTag,
    deniedRoleTag,
  };
}

/** A stored installation: the files of a server's data directory, and what a client knows of it. */
interface StoredInstallation {
  readonly facts: StoredFacts;
  /** Contents in base64, by path below the data directory. */
  readonly files: Readonly<Record<string, string>>;
}

/** Writes the files of the installation in `archive` below `data`, and returns what a client knows of it. */
export async function unpackInstallation(archive: string, data: string): Promise<StoredFacts> {
  const { facts, files } = JSON.parse(gunzipSync(await readFile(archive)).toString()) as StoredInstallation;
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(data, path)), { recursive: true, mode: 0o700 });
    await writeFile(join(data, path), Buffer.from(content, "base64"), { mode: 0o600 });
  }
  return facts;
}

/** Writes the data directory of a server that has stopped into `archive`. */
export async function packInstallation(data: string, facts: StoredFacts, archive: string): Promise<void> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(join(data, "objects"), { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".sqlite")) continue;
    const file = join(entry.parentPath, entry.name);
    const database = new DatabaseSync(file);
    database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    files[relative(data, file)] = (await readFile(file)).toString("base64");
  }
  files["installation-id"] = (await readFile(join(data, "installation-id"))).toString("base64");
  const stored: StoredInstallation = { facts, files };
  await writeFile(archive, gzipSync(JSON.stringify(stored), { level: 9 }));
}
