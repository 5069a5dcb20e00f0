import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { cloudAt, cloudObject, enableCloud, VOCABULARIES } from "../../../support/cloud.ts";
import { madeIn } from "../../../support/rows.ts";
import { call, createToken, initialized } from "../../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe.each(VOCABULARIES)("mounts of the type $type", (words) => {
  const role = { auth_type: words.vm, bound_vpc_id: "vpc-1", role_tag: "cap" };

  it("are apart from each other, wherever they are", async () => {
    const one = await enableCloud(root, `apart-${words.type}`, words.type);
    const two = await enableCloud(root, `teams/a/${words.type}`, words.type);
    await one.post("role/web", role);
    await one.post("config/client", { access_key: "AKIA1" });
    expect((await two.get("role/web")).status).toBe(404);
    expect((await two.get("config/client")).status).toBe(404);
    await two.post("role/web", { ...role, bound_vpc_id: "vpc-2" });
    expect((await one.get("role/web")).body.data.bound_vpc_id).toEqual(["vpc-1"]);
  });

  it("leave nothing behind when they are disabled, and begin empty when they are enabled again", async () => {
    const path = `again-${words.type}`;
    const first = await enableCloud(root, path, words.type);
    await first.post("role/web", role);
    await first.post("config/client", { access_key: "AKIA1", secret_key: "swordfish" });
    const tag = String((await first.post("role/web/tag")).body.data.tag_value);
    await first.post(`roletag-denylist/${encodeURIComponent(tag)}`);
    const object = await cloudObject(path);
    await call("DELETE", `sys/auth/${path}`, { token: root });
    expect((await first.get("role/web")).body.errors[0]).toContain("no handler for route");
    const left = async () => ({
      tables: await madeIn(object),
      alarm: await runInDurableObject(object, (_, { storage }) => storage.getAlarm()),
    });
    // The walk over the mount's tokens erases its object first, right after the answer.
    await expect.poll(left).toEqual({ tables: [], alarm: null });
    expect(await object.readRole("web")).toBeNull();

    const second = await enableCloud(root, path, words.type);
    for (const empty of ["roles", "roletag-denylist", "config/certificates"]) {
      expect((await second.list(empty)).status).toBe(404);
    }
    expect((await second.get("config/client")).status).toBe(404);
    expect((await second.post("role/web", role)).status).toBe(204);
  });

  it("are asked without leaving a trace", async () => {
    const at = await enableCloud(root, `asked-${words.type}`, words.type);
    for (const path of ["config/client", "config/identity", "role/a", "config/certificate/a", "roletag-denylist/a"]) {
      await at.get(path);
      await at.remove(path);
    }
    await at.list("roles");
    expect(await madeIn(await cloudObject(at.path))).toEqual([]);
  });

  it("need a token whose policies allow it, on every path but the login", async () => {
    const path = `closed-${words.type}`;
    const at = await enableCloud(root, path, words.type);
    const { client_token } = await createToken(root, { policies: ["default"] });
    for (const token of ["", client_token]) {
      const stranger = cloudAt(token, path);
      for (const below of ["config/client", "config/identity", "role/a", "roles", "nothing", "tidy/roletag-denylist"]) {
        for (const answer of [await stranger.get(below), await stranger.post(below), await stranger.remove(below)]) {
          expect([below, answer.status]).toEqual([below, 403]);
        }
      }
    }
    expect((await at.list("roles")).status).toBe(404);
  });
});

describe("policies judge what a path means, not how it is spelled", () => {
  let at: ReturnType<typeof cloudAt>;

  beforeAll(async () => {
    at = await enableCloud(root, "spelled", "cloud");
    await at.post("role/admin", { auth_type: "vm", bound_vpc_id: "v", role_tag: "cap" });
  });

  const under = async (name: string, policy: string) => {
    await call("POST", `sys/policies/acl/${name}`, { token: root, body: { policy } });
    const { client_token } = await createToken(root, { policies: [name] });
    return cloudAt(client_token, "spelled");
  };

  it("in paths of roles", async () => {
    const caller = await under(
      "no-admin",
      `path "auth/spelled/role/*" { capabilities = ["read", "update", "delete"] }
       path "auth/spelled/role/admin" { capabilities = ["deny"] }
       path "auth/spelled/role/admin/tag" { capabilities = ["deny"] }`,
    );
    for (const name of ["admin", "Admin", "ADMIN"]) {
      expect((await caller.get(`role/${name}`)).status).toBe(403);
      expect((await caller.post(`role/${name}`, { token_ttl: 1 })).status).toBe(403);
      expect((await caller.post(`role/${name}/tag`)).status).toBe(403);
      expect((await caller.remove(`role/${name}`)).status).toBe(403);
    }
    expect((await caller.get("role/other")).status).toBe(404);
  });

  it("of role tags", async () => {
    const tag = String((await at.post("role/admin/tag")).body.data.tag_value);
    await at.post(`roletag-denylist/${encodeURIComponent(tag)}`);
    const caller = await under(
      "no-free",
      `path "auth/spelled/roletag-denylist/*" { capabilities = ["delete", "read"] }
       path "auth/spelled/roletag-denylist/${tag}" { capabilities = ["read"] }`,
    );
    for (const spelling of [tag, btoa(tag)]) {
      expect((await caller.get(`roletag-denylist/${encodeURIComponent(spelling)}`)).status).toBe(200);
      expect((await caller.remove(`roletag-denylist/${encodeURIComponent(spelling)}`)).status).toBe(403);
    }
  });
});
