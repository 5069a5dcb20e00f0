import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { text } from "../servers/client.ts";
import { type Check, createToken as create, entityOf, must, withServer } from "./check.ts";
import type { Subject } from "./subject.ts";

/** What the first review of Grove's security found and can be tried from outside, in its order. */
export const FIRST_REVIEW: readonly Check[] = [
  { name: "1 a client that hangs up leaves no trace", attack: hangUp },
  { name: "2 a document of thousands of elements", attack: manyElements },
  { name: "3 half bodies silence the gateway", attack: halfBodies },
  { name: "4 the log does not say who and what", attack: whoAndWhat },
  { name: "5 a token made root, a role widened in the database", attack: tamper },
  { name: "6 a denied role tag is forgotten", attack: forgottenTag },
  { name: "7 a lease id made from an accessor", attack: leaseOfAccessor },
  { name: "9 a disabled entity's token lives on", attack: disabledEntity },
  { name: "10 a denied path or value in another spelling", attack: otherSpelling },
  { name: "11 the directory holds what the tree compares", attack: wholeHash },
  { name: "12 a lease target in the private network", attack: privateTarget },
];

async function hangUp(subject: Subject): Promise<string> {
  await create(subject, {}, "create-orphan");
  const path = "sys/leases/revoke-prefix/auth/token/create-orphan";
  const head = `PUT /v1/${path} HTTP/1.1\r\nHost: grove\r\nX-Vault-Token: ${subject.root}\r\nContent-Length: 2\r\n\r\n{}`;
  const has = (type: string) => subject.lines().some((line) => line.type === type && line.path === path);
  // A request that is cut before the gateway has read it never arrived. A busy machine reads later.
  for (const delayMs of [4, 8, 16, 32, 64, 128, 256]) {
    const socket = connect({ host: "127.0.0.1", port: subject.port }).on("error", () => {});
    socket.write(head);
    await pause(delayMs);
    socket.resetAndDestroy();
    await pause(500);
    if (has("request") || has("response")) break;
  }
  await subject.until("the line of the answer", () => has("response"));
  must(has("request"), "no line before the act");
  return "on record, before and after";
}

async function manyElements(subject: Subject): Promise<string> {
  await subject.call("POST", "sys/auth/docs", { body: { type: "aws" } });
  const role = { auth_type: "ec2", bound_account_id: "123456789012" };
  must((await subject.call("POST", "auth/docs/role/web", { body: role })).status === 204, "no role");
  const nulls = Buffer.alloc(2 * 2300, Buffer.from([5, 0]));
  const message = Buffer.concat([Buffer.from([0x30, 0x82, nulls.length >> 8, nulls.length & 0xff]), nulls]);
  const login = (name: string, pkcs7: string) =>
    subject.call("POST", "auth/docs/login", { token: "", body: { role: name, pkcs7 } });
  const read = await login("web", message.toString("base64"));
  must(JSON.stringify(read.body).includes("too many elements"), `answered ${JSON.stringify(read.body)}`);
  const unknown = await login("unknown", message.toString("base64"));
  must(JSON.stringify(unknown.body).includes("not found"), "the document was read for a role that does not exist");
  const long = await login("web", "A".repeat(40_000));
  must(long.status === 400, `40 KB were answered with ${long.status}`);
  return "400: elements are counted, after the role is asked for";
}

async function halfBodies(subject: Subject): Promise<string> {
  const sockets: Socket[] = [];
  try {
    for (const [count, announced, sent] of [
      [150, 1_048_576, 1_000_000],
      [300, 200_000, 66_000],
    ] as const) {
      for (let i = 0; i < count; i++) {
        const socket = connect({ host: "127.0.0.1", port: subject.port, localAddress: "127.0.0.1" });
        socket.on("error", () => {});
        socket.write(`PUT /v1/sys/x HTTP/1.1\r\nHost: grove\r\nContent-Length: ${announced}\r\n\r\n`);
        socket.write(Buffer.alloc(sent, 32));
        sockets.push(socket);
      }
    }
    for (let i = 0; i < 20; i++) {
      const { status } = await subject.call("GET", "sys/health", { token: "", from: "127.0.0.2" });
      must(status === 200, `sys/health was answered with ${status}`);
      await pause(100);
    }
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  return "another client's sys/health answers all through it";
}

async function whoAndWhat(subject: Subject): Promise<string> {
  const { accessor } = await create(subject, { display_name: "who" });
  const revoked = await subject.call("POST", "auth/token/revoke-accessor", { body: { accessor } });
  must(revoked.status === 204, `the revocation was answered with ${revoked.status}`);
  const hashed = await subject.call("POST", "sys/audit-hash/any", { body: { input: "who" } });
  const hash = text(hashed.body, "data", "hash");
  const lines = () => JSON.stringify(subject.lines());
  await subject.until("the issued accessor", () => lines().includes(`"response":{"auth":{"accessor":"${accessor}"`));
  await subject.until("the target's accessor", () => lines().includes(`"target_accessor":"${accessor}"`));
  must(lines().includes(`"display_name":"${hash}"`), "the fields of the request are not found by their hash");
  return "on record: issued and target accessor, fields by hash";
}

async function tamper(subject: Subject): Promise<string> {
  const { token } = await create(subject, { ttl: "24h" });
  await subject.call("POST", "auth/token/roles/narrow", { body: { allowed_policies: ["default"] } });
  await subject.betweenStarts("TokenRoles", "roles", (database) => {
    database.prepare(`UPDATE roles SET value = replace(value, '["default"]', '["admin"]')`).run();
  });
  const widened = await subject.call("POST", "auth/token/create/narrow", { body: { policies: ["admin"] } });
  must(widened.status === 400, `a token of the role was answered with ${widened.status}`);
  let changed = 0;
  await subject.betweenStarts("TokenTree", "tokens", (database) => {
    const update = `UPDATE tokens SET record = replace(record, '["default"]', '["root"]') WHERE record LIKE '%["default"]%'`;
    changed += Number(database.prepare(update).run().changes);
  });
  must(changed > 0, "there was nothing to change");
  const { status } = await subject.call("GET", "sys/auth", { token });
  must(status === 403, `sys/auth was answered with ${status}`);
  await subject.until("the line about tampering", () => subject.lines().some(({ type }) => type === "tampering"));
  return "refused, and on record as tampering";
}

async function forgottenTag(subject: Subject): Promise<string> {
  await subject.call("POST", "sys/auth/tags", { body: { type: "aws", config: { max_lease_ttl: "1s" } } });
  const role = { auth_type: "ec2", bound_account_id: "123456789012", role_tag: "Grove" };
  await subject.call("POST", "auth/tags/role/web", { body: role });
  const made = await subject.call("POST", "auth/tags/role/web/tag", { body: {} });
  const tag = Buffer.from(text(made.body, "data", "tag_value")).toString("base64");
  const path = `auth/tags/roletag-denylist/${encodeURIComponent(tag)}`;
  must((await subject.call("POST", path, { body: {} })).status === 204, "the tag could not be denied");
  await pause(2_000);
  await subject.call("POST", "auth/tags/tidy/roletag-denylist", { body: { safety_buffer: "0s" } });
  await pause(1_000);
  must((await subject.call("GET", path)).status === 200, "the entry is gone");
  return "still denied after tidy";
}

async function leaseOfAccessor(subject: Subject): Promise<string> {
  const { token, accessor } = await create(subject, {});
  const lease_id = `auth/token/create-orphan/h${Buffer.from(accessor, "base64url").toString("hex")}`;
  must((await subject.call("POST", "sys/leases/lookup", { body: { lease_id } })).status === 400, "it was looked up");
  await subject.call("POST", "sys/leases/revoke", { body: { lease_id } });
  must((await subject.call("GET", "auth/token/lookup-self", { token })).status === 200, "it was revoked");
  return "400: no such lease";
}

async function disabledEntity(subject: Subject): Promise<string> {
  const role = { allowed_entity_aliases: "someone", allowed_policies: "default" };
  await subject.call("POST", "auth/token/roles/named", { body: role });
  const { token } = await create(subject, { entity_alias: "someone" }, "create/named");
  const id = await entityOf(subject, token);
  must(id !== "", "the token has no entity");
  await subject.call("POST", `identity/entity/id/${id}`, { body: { disabled: true } });
  const look = () => subject.call("GET", "auth/token/lookup-self", { token });
  await subject.until("the refusal", async () => (await look()).status === 403, 3_000);
  return "403 within POLICY_CACHE_SECONDS";
}

async function otherSpelling(subject: Subject): Promise<string> {
  const policy = `
    path "auth/docs/*" { capabilities = ["create", "read", "update", "delete", "list"] }
    path "auth/docs/identity-accesslist/*" { capabilities = ["deny"] }
    path "auth/token/create" { capabilities = ["update"] denied_parameters = { "policies" = ["admin"], "no_parent" = [true] } }`;
  await subject.call("POST", "sys/policies/acl/spelling", { body: { policy } });
  const { token } = await create(subject, { policies: ["spelling", "admin"] });
  const refused = async (method: string, path: string, body?: unknown) => {
    const { status } = await subject.call(method, path, { token, body });
    must(status === 403, `${method} ${path} ${JSON.stringify(body) ?? ""} was answered with ${status}`);
  };
  await refused("DELETE", "auth/docs/identity-whitelist/i-1");
  await refused("GET", "auth/docs/identity-whitelist?list=true");
  await refused("POST", "auth/token/create", { policies: ["admin"] });
  await refused("POST", "auth/token/create", { policies: ["default"], no_parent: "true" });
  return "403 in every spelling";
}

async function wholeHash(subject: Subject): Promise<string> {
  await create(subject, { id: "chosen-for-the-check" });
  const keys: string[] = [];
  await subject.betweenStarts("CustomIds", "custom_ids", (database) => {
    keys.push(
      ...database
        .prepare("SELECT key FROM custom_ids")
        .all()
        .map(({ key }) => String(key)),
    );
  });
  must(keys.length > 0, "the directory is empty");
  must(
    keys.every((key) => key.length === 16),
    "a key is longer than 8 bytes",
  );
  return "8 bytes, which the tree does not compare";
}

async function privateTarget(subject: Subject): Promise<string> {
  const asked = new Set<string>();
  for (const [host, expected] of [
    ["127.0.0.1", 200],
    ["127.0.0.2", 400],
  ] as const) {
    await withServer(
      host,
      () => asked.add(host),
      async (target) => {
        const { token } = await create(subject, {});
        const lease = { token, path: "db/creds/x", ttl: "1h", target };
        const registered = await subject.call("POST", "sys/leases/register", { body: lease });
        must(registered.status === expected, `the registration at ${host} was answered with ${registered.status}`);
        await subject.call("POST", "auth/token/revoke", { body: { token } });
        if (expected === 200) await subject.until("the revocation at the allowed address", () => asked.has(host));
        else await pause(1_000);
      },
    );
  }
  must(!asked.has("127.0.0.2"), "an address that is not on the list was called");
  return "400: only hosts of --allow-private-host are taken, and called";
}
