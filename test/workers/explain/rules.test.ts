import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, dataOf, initialized } from "../../support/service.ts";

interface Rules {
  readonly root: boolean;
  readonly policies: readonly string[];
  readonly missing_policies: readonly string[];
  readonly rules: readonly object[];
  readonly more: boolean;
}

let root: string;

const post = (path: string, body: unknown = {}, token = root) => call("POST", path, { token, body });
const write = (name: string, policy: string) => post(`sys/policies/acl/${name}`, { policy });
const rulesOf = async (body: object): Promise<Rules> => dataOf<Rules>(await post("sys/explain/rules", body));

beforeAll(async () => {
  root = await initialized();
  await write("reads", 'path "secret/*" { capabilities = ["read", "list"] }');
  await write(
    "writes",
    `path "secret/*" { capabilities = ["update"] required_parameters = ["id"] }
     path "secret/closed" { capabilities = ["deny"] }
     path "home/{{identity.entity.name}}" { capabilities = ["read"] }`,
  );
});

describe("the rules of a token", () => {
  it("have merged capabilities, the policies that they come from, and whether one has limits", async () => {
    const entity = dataOf<{ id: string }>(await post("identity/entity", { name: "ann", policies: ["writes"] }));
    await post("auth/token/roles/of-ann", { allowed_entity_aliases: ["ann"], allowed_policies: ["reads", "gone"] });
    const { accessor: mount } = dataOf<{ accessor: string }>(await call("GET", "sys/auth/token", { token: root }));
    await post("identity/entity-alias", { name: "ann", canonical_id: entity.id, mount_accessor: mount });
    const made = await post("auth/token/create/of-ann", {
      policies: ["reads", "gone"],
      no_default_policy: true,
      entity_alias: "ann",
    });
    const { accessor, client_token: token } = made.body.auth;
    const expected = {
      root: false,
      policies: ["gone", "reads", "writes"],
      missing_policies: ["gone"],
      rules: [
        {
          path: "home/ann",
          capabilities: ["read"],
          limited: false,
          policies: [{ name: "writes", path: "home/{{identity.entity.name}}" }],
        },
        {
          path: "secret/*",
          capabilities: ["list", "read", "update"],
          limited: true,
          policies: [
            { name: "reads", path: "secret/*" },
            { name: "writes", path: "secret/*" },
          ],
        },
        {
          path: "secret/closed",
          capabilities: ["deny"],
          limited: false,
          policies: [{ name: "writes", path: "secret/closed" }],
        },
      ],
      more: false,
    };
    expect(await rulesOf({ accessor })).toEqual(expected);
    expect(await rulesOf({ token })).toEqual(expected);
    await post(`identity/entity/id/${entity.id}`, { disabled: true });
    const disabled = await post("sys/explain/rules", { accessor });
    expect([disabled.status, disabled.body.errors]).toEqual([400, [expect.stringContaining("entity")]]);
  });

  it("of a root token are none, as it needs none", async () => {
    expect(await rulesOf({ token: root })).toMatchObject({ root: true, rules: [] });
  });

  it("are shown to who may ask about each path, with sudo, and to nobody else", async () => {
    const { accessor } = await createToken(root, { policies: ["reads"] });
    const asks = async (policy: string): Promise<number> => {
      await write("asks", policy);
      const { client_token: token } = await createToken(root, { policies: ["asks"] });
      return (await post("sys/explain/rules", { accessor }, token)).status;
    };
    expect(await asks('path "sys/explain/access" { capabilities = ["update", "sudo"] }')).toBe(200);
    expect(await asks('path "sys/explain/rules" { capabilities = ["update", "sudo"] }')).toBe(200);
    expect(await asks('path "sys/explain/rules" { capabilities = ["update"] }')).toBe(403);
    expect(await asks('path "sys/explain/access-self" { capabilities = ["update", "sudo"] }')).toBe(403);
    for (const body of [{}, { token: "s.unknown" }, { accessor: "unknown" }, { token: root, accessor }]) {
      expect((await post("sys/explain/rules", body)).status).toBe(400);
    }
  });
});

describe("the paths of a policy", () => {
  it("that no endpoint has are named with their lines, until a mount has them", async () => {
    const policy = `path "auth/jobs/login" { capabilities = ["update"] }
      path "auth/tokens/create" { capabilities = ["update"] }
      path "auth/token/create" { capabilities = ["update"] }`;
    const unserved = async () => dataOf<{ unserved: object[] }>(await post("sys/explain/policy", { policy })).unserved;
    const mistyped = { path: "auth/tokens/create", lines: [2] };
    expect(await unserved()).toEqual([{ path: "auth/jobs/login", lines: [1] }, mistyped]);
    await post("sys/auth/jobs", { type: "approle" });
    expect(await unserved()).toEqual([mistyped]);
    for (const wrong of ["", "path {"]) expect((await post("sys/explain/policy", { policy: wrong })).status).toBe(400);
  });
});
