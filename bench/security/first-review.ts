import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { text } from "../servers/client.ts";
import { type Checks, createToken as create, entityOf, must, tokenWith, withServer } from "./check.ts";

/** Attacks of the first security review that can be tried over the network, in the order of the review. */
export const FIRST_REVIEW: Checks = {
  async "1 an unlogged request by a client that disconnects"(subject) {
    await create(subject, {}, "create-orphan");
    const path = "sys/leases/revoke-prefix/auth/token/create-orphan";
    const head = `PUT /v1/${path} HTTP/1.1\r\nHost: grove\r\nX-Vault-Token: ${subject.root}\r\nContent-Length: 2\r\n\r\n{}`;
    const has = (type: string) => subject.lines().some((line) => line.type === type && line.path === path);
    // A request is lost if the connection closes before the gateway reads it, so try longer delays on a busy machine.
    for (const delayMs of [4, 8, 16, 32, 64, 128, 256]) {
      const socket = connect({ host: "127.0.0.1", port: subject.port }).on("error", () => {});
      socket.write(head);
      await pause(delayMs);
      socket.resetAndDestroy();
      await pause(500);
      if (has("request") || has("response")) break;
    }
    await subject.until("the log line of the response", () => has("response"));
    must(has("request"), "no log line before the operation");
    return "logged before and after the operation";
  },

  async "2 a document of thousands of elements"(subject) {
    await subject.call("POST", "sys/auth/docs", { body: { type: "aws" } });
    const role = { auth_type: "ec2", bound_account_id: "123456789012" };
    await subject.answers(204, "POST", "auth/docs/role/web", { body: role });
    const nulls = Buffer.alloc(2 * 2300, Buffer.from([5, 0]));
    const message = Buffer.concat([Buffer.from([0x30, 0x82, nulls.length >> 8, nulls.length & 0xff]), nulls]);
    const document = message.toString("base64");
    for (const [name, pkcs7, reason] of [
      ["web", document, "too many elements"],
      ["unknown", document, "not found"],
      ["web", "A".repeat(40_000), ""],
    ] as const) {
      const login = { token: "", body: { role: name, pkcs7 } };
      const { body } = await subject.answers(400, "POST", "auth/docs/login", login);
      must(JSON.stringify(body).includes(reason), `answered ${JSON.stringify(body)}`);
    }
    return "400: the role is checked first, the elements are limited";
  },

  async "3 incomplete bodies that block the gateway"(subject) {
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
        await subject.answers(200, "GET", "sys/health", { token: "", from: "127.0.0.2" });
        await pause(100);
      }
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    return "sys/health answers another client throughout";
  },

  async "4 actor and target missing from the audit log"(subject) {
    const { accessor } = await create(subject, { display_name: "who" });
    await subject.answers(204, "POST", "auth/token/revoke-accessor", { body: { accessor } });
    const hashed = await subject.call("POST", "sys/audit-hash/any", { body: { input: "who" } });
    const hash = text(hashed.body, "data", "hash");
    const lines = () => JSON.stringify(subject.lines());
    await subject.until("the issued accessor", () => lines().includes(`"response":{"auth":{"accessor":"${accessor}"`));
    await subject.until("the target's accessor", () => lines().includes(`"target_accessor":"${accessor}"`));
    must(lines().includes(`"display_name":"${hash}"`), "the fields of the request are not found by their hash");
    return "logged: issued and target accessor, fields by hash";
  },

  async "5 a token and a role widened in the database"(subject) {
    const { token } = await create(subject, { ttl: "24h" });
    await subject.call("POST", "auth/token/roles/narrow", { body: { allowed_policies: ["default"] } });
    const widened = `UPDATE roles SET value = replace(value, '["default"]', '["admin"]')`;
    await subject.rewrite("TokenRoles", "roles", widened);
    await subject.answers(400, "POST", "auth/token/create/narrow", { body: { policies: ["admin"] } });
    const raised = `UPDATE tokens SET record = replace(record, '["default"]', '["root"]') WHERE record LIKE '%["default"]%'`;
    must((await subject.rewrite("TokenTree", "tokens", raised)) > 0, "no row was changed");
    await subject.answers(403, "GET", "sys/auth", { token });
    await subject.until("the log line about tampering", () => subject.lines().some(({ type }) => type === "tampering"));
    return "refused, and logged as tampering";
  },

  async "6 a denied role tag accepted again after tidy"(subject) {
    await subject.call("POST", "sys/auth/tags", { body: { type: "aws", config: { max_lease_ttl: "1s" } } });
    const role = { auth_type: "ec2", bound_account_id: "123456789012", role_tag: "Grove" };
    await subject.call("POST", "auth/tags/role/web", { body: role });
    const made = await subject.call("POST", "auth/tags/role/web/tag", { body: {} });
    const tag = Buffer.from(text(made.body, "data", "tag_value")).toString("base64");
    const path = `auth/tags/roletag-denylist/${encodeURIComponent(tag)}`;
    await subject.answers(204, "POST", path, { body: {} });
    await pause(2_000);
    await subject.call("POST", "auth/tags/tidy/roletag-denylist", { body: { safety_buffer: "0s" } });
    await pause(1_000);
    await subject.answers(200, "GET", path);
    return "still denied after tidy";
  },

  async "7 a lease id derived from an accessor"(subject) {
    const { token, accessor } = await create(subject, {});
    const lease_id = `auth/token/create-orphan/h${Buffer.from(accessor, "base64url").toString("hex")}`;
    await subject.answers(400, "POST", "sys/leases/lookup", { body: { lease_id } });
    await subject.call("POST", "sys/leases/revoke", { body: { lease_id } });
    await subject.answers(200, "GET", "auth/token/lookup-self", { token });
    return "400: no such lease";
  },

  async "9 the token of a disabled entity"(subject) {
    const role = { allowed_entity_aliases: "someone", allowed_policies: "default" };
    await subject.call("POST", "auth/token/roles/named", { body: role });
    const { token } = await create(subject, { entity_alias: "someone" }, "create/named");
    const id = await entityOf(subject, token);
    must(id !== "", "the token has no entity");
    await subject.call("POST", `identity/entity/id/${id}`, { body: { disabled: true } });
    await subject.answers(403, "GET", "auth/token/lookup-self", { token });
    return "403 from the answer on";
  },

  async "10 alternative spellings of a denied path or value"(subject) {
    const policy = `
    path "auth/docs/*" { capabilities = ["create", "read", "update", "delete", "list"] }
    path "auth/docs/identity-accesslist/*" { capabilities = ["deny"] }
    path "auth/token/create" { capabilities = ["update"] denied_parameters = { "policies" = ["admin"], "no_parent" = [true] } }`;
    const token = await tokenWith(subject, "spelling", policy, "admin");
    for (const [method, path, body] of [
      ["DELETE", "auth/docs/identity-whitelist/i-1"],
      ["GET", "auth/docs/identity-whitelist?list=true"],
      ["POST", "auth/token/create", { policies: ["admin"] }],
      ["POST", "auth/token/create", { policies: ["default"], no_parent: "true" }],
    ] as const) {
      await subject.answers(403, method, path, { token, body });
    }
    return "403 in every spelling";
  },

  async "11 full token verifiers in the custom id directory"(subject) {
    await create(subject, { id: "chosen-for-the-check" });
    const lengths: unknown[] = [];
    await subject.betweenStarts("CustomIds", "custom_ids", (database) => {
      for (const { length } of database.prepare("SELECT length(key) AS length FROM custom_ids").all())
        lengths.push(length);
    });
    const isHalf = lengths.length > 0 && lengths.every((length) => length === 16);
    must(isHalf, `lengths of the directory's keys: ${lengths.join(", ") || "no keys"}`);
    return "the directory stores 8 bytes that do not verify a token";
  },

  async "12 a lease target in the private network"(subject) {
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
          await subject.answers(expected, "POST", "sys/leases/register", { body: lease });
          await subject.call("POST", "auth/token/revoke", { body: { token } });
          if (expected === 200) await subject.until("the revocation at the allowed address", () => asked.has(host));
          else await pause(1_000);
        },
      );
    }
    must(!asked.has("127.0.0.2"), "the server called an address that is not allowed");
    return "400: only hosts of --allow-private-host are accepted";
  },
};
