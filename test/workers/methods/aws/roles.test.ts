import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { cloudAt, cloudObject, enableCloud, VOCABULARIES } from "../../../support/cloud.ts";
import { HOME, serverUser } from "../../../support/cloud-mount.ts";
import { FakeCloud } from "../../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../../support/fake-cloud/outbound.ts";
import { type Key, userArn } from "../../../support/fake-cloud/world.ts";
import { rowsOf } from "../../../support/rows.ts";
import { call, createToken, dataOf, initialized } from "../../../support/service.ts";

const ARN = `arn:aws:iam::${HOME}:role/app`;
const cloud = new FakeCloud();
const app = cloud.world.addRole(HOME, "app");
const jane = cloud.world.addUser(HOME, "jane", "/p/");
let root: string;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
});

describe.each(VOCABULARIES)("roles of a mount of the type $type", (words) => {
  let at: ReturnType<typeof cloudAt>;
  let key: Key;
  let count = 0;
  const vmRole = { auth_type: words.vm, [words.bound_image_id]: "ami-1" };

  beforeEach(async () => {
    at = await enableCloud(root, `roles-${words.type}-${count++}`, words.type);
    cloud.heal();
    cloud.calls.length = 0;
    cloud.beforeAnswer = async () => {};
    key = cloud.world.addKey(serverUser(cloud));
    await at.post("config/client", { access_key: key.id, secret_key: key.secret, max_retries: 0 });
  });

  it("are one role in every casing, listed in lower case, and gone when deleted", async () => {
    await at.post("role/MyRole", vmRole);
    await at.post("role/MYROLE", { token_ttl: "1m" });
    expect((await at.get("role/myrole")).body.data).toMatchObject({
      [words.bound_image_id]: ["ami-1"],
      [words.bound_vm_instance_id]: [],
      auth_type: words.vm,
      token_ttl: 60,
    });
    expect((await at.list("roles")).body.data.keys).toEqual(["myrole"]);
    expect((await at.list("role")).body.data.keys).toEqual(["myrole"]);
    expect((await at.remove("role/mYrOlE")).status).toBe(204);
    expect((await at.remove("role/myrole")).status).toBe(204);
    expect((await at.get("role/myrole")).status).toBe(404);
    expect((await at.list("roles")).status).toBe(404);
  });

  it("made under the name of a deleted role are other roles", async () => {
    await at.post("role/a", vmRole);
    const first = (await at.get("role/a")).body.data.role_id;
    await at.post("role/a", { token_ttl: 1 });
    expect((await at.get("role/a")).body.data.role_id).toBe(first);
    await at.remove("role/a");
    await at.post("role/a", vmRole);
    expect((await at.get("role/a")).body.data.role_id).not.toBe(first);
  });

  it("are refused with a misspelled bound, in the client's word, and taken as they were read", async () => {
    await at.post("role/a", vmRole);
    for (const name of ["bound_regoin", "token_bound_cidr"]) {
      const answer = await at.post("role/a", { [name]: "x", token_ttl: 5 });
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [`this endpoint does not know these parameters: [${name}]`],
      ]);
    }
    const data = dataOf<Record<string, unknown>>(await at.get("role/a"));
    expect(data).toMatchObject({ token_ttl: 0, bound_iam_principal_id: [] });
    expect((await at.post("role/b", { ...data, colour: "red" })).status).toBe(204);
  });

  it("are refused with the reason in the mount's vocabulary, and are not stored", async () => {
    const message = async (body: unknown) => {
      const answer = await at.post("role/a", body);
      return [answer.status, answer.body.errors[0]];
    };
    expect(await message({ [words.bound_image_id]: "ami-1" })).toEqual([
      400,
      `specified ${words.bound_image_id} but not specifying ${words.vm} auth_type or inferring ${words.vm_instance}`,
    ]);
    expect(await message({ inferred_entity_type: words.vm_instance, bound_vpc_id: "v" })).toEqual([
      400,
      `specified inferred_entity_type but not ${words.inferred_cloud_region}`,
    ]);
    expect(await message({ bound_iam_principal_arn: `${ARN}*`, allow_instance_migration: true })).toEqual([
      400,
      `specified allow_instance_migration when not using ${words.vm} auth type`,
    ]);
    expect(await message({ [words.bound_image_id]: { a: "swordfish" } })).toEqual([
      400,
      `Field validation failed: error converting input for field "${words.bound_image_id}": expected a list of at most 1000 strings`,
    ]);
    expect((await at.get("role/a")).status).toBe(404);
  });

  it("with an inferred instance may be bound to regions", async () => {
    const body = {
      inferred_entity_type: words.vm_instance,
      [words.inferred_cloud_region]: "us-east-1",
      bound_region: "us-east-1,us-west-2",
    };
    expect((await at.post("role/a", body)).status).toBe(204);
    expect((await at.get("role/a")).body.data).toMatchObject({
      ...body,
      auth_type: "iam",
      bound_region: ["us-east-1", "us-west-2"],
    });
  });

  it("look principals up in the cloud, outside of the object, and keep the ids", async () => {
    const lookups = () => cloud.calls.filter(({ service }) => service === "iam").map(({ accessKeyId }) => accessKeyId);
    const body = { bound_iam_principal_arn: [ARN, `${ARN}/*`, userArn(jane)] };
    expect((await at.post("role/a", body)).status).toBe(204);
    expect((await at.get("role/a")).body.data).toMatchObject({
      bound_iam_principal_id: [app.id, jane.id],
      bound_iam_principal_arn: body.bound_iam_principal_arn,
      [words.resolve_cloud_unique_ids]: true,
    });
    expect(lookups()).toEqual([key.id, key.id]);
    await at.post("role/a", { token_ttl: 5 });
    expect(lookups()).toHaveLength(2);
    await at.post("role/a", body);
    expect(lookups()).toHaveLength(4);
    const answer = await at.post("role/a", { [words.resolve_cloud_unique_ids]: false });
    expect(answer.body.errors).toEqual([
      `changing ${words.resolve_cloud_unique_ids} from true to false is not allowed`,
    ]);
  });

  it.each([
    ["the cloud refuses", `arn:aws:iam::${HOME}:role/none`, 400, "NoSuchEntity"],
    ["it is no principal", "swordfish", 400, "unrecognized arn"],
    ["it is a session", "arn:aws:sts::111111111111:assumed-role/a/b", 400, "only users and roles"],
    ["the cloud does not answer", `arn:aws:iam::${HOME}:user/slow`, 503, "IAM"],
  ])("are refused when an ARN can't be looked up: %s", async (_, arn, status, cause) => {
    cloud.fail("iam", { kind: "unreachable" }, { action: "GetUser" });
    const answer = await at.post("role/a", { bound_iam_principal_arn: [`${ARN}/*`, arn] });
    expect(answer.status).toBe(status);
    expect(answer.body.errors[0]).toContain("unable to resolve ARN 1 of bound_iam_principal_arn to internal ID: ");
    expect(answer.body.errors[0]).toContain(cause);
    expect(JSON.stringify(answer.body)).not.toContain("swordfish");
    expect((await at.get("role/a")).status).toBe(404);
  });

  it("that change while principals are looked up are judged again", async () => {
    cloud.beforeAnswer = async ({ action }) => {
      if (action !== "GetRole") return;
      cloud.beforeAnswer = async () => {};
      await at.post("role/a", { auth_type: words.vm, bound_vpc_id: "vpc-1" });
    };
    const answer = await at.post("role/a", { bound_iam_principal_arn: ARN });
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      ["specified bound_iam_principal_arn but not specifying iam auth_type"],
    ]);
    expect((await at.get("role/a")).body.data.auth_type).toBe(words.vm);
  });

  it("keep the key of their tags sealed and to themselves", async () => {
    await at.post("role/a", { ...vmRole, role_tag: "cap" });
    expect(JSON.stringify((await at.get("role/a")).body)).not.toMatch(/key/i);
    const rows = await rowsOf(await cloudObject(at.path), "roles");
    const stored = rows.map(({ value }) => value).join();
    const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-/g;
    // Only the id of the role is a UUID in the clear. The key is one too, and would be seen in the text that base64 stands for.
    expect(stored.match(uuids)).toHaveLength(1);
    const sealed = /"sealedTagKey":"([^"]+)"/.exec(stored)?.[1] ?? "";
    expect(sealed).not.toBe("");
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toMatch(uuids);
  });

  it("are listed in pages that begin after a name", async () => {
    for (const name of ["e", "b", "d", "a", "c"]) await at.post(`role/${name}`, vmRole);
    expect((await at.list("roles", "&limit=2")).body.data.keys).toEqual(["a", "b"]);
    expect((await at.list("roles", "&limit=2&after=b")).body.data.keys).toEqual(["c", "d"]);
    expect((await at.list("roles", "&after=c")).body.data.keys).toEqual(["d", "e"]);
    expect((await at.list("roles", "&after=e")).status).toBe(404);
    expect((await at.list("roles", "&limit=-1")).body.data.keys).toHaveLength(5);
    expect((await at.list("roles", "&limit=99999999")).body.data.keys).toHaveLength(5);
    expect((await at.list("roles", "&limit=x")).status).toBe(400);
  });

  it("are listed as the caller's policy limits it", async () => {
    for (const name of ["a", "b", "c"]) await at.post(`role/${name}`, vmRole);
    const policy = `path "auth/${at.path}/roles" { capabilities = ["list"]\n pagination_limit = 2 }`;
    await call("POST", `sys/policies/acl/pager-${at.path}`, { token: root, body: { policy } });
    const { client_token } = await createToken(root, { policies: [`pager-${at.path}`] });
    const mine = cloudAt(client_token, at.path);
    expect((await mine.list("roles")).body.data.keys).toEqual(["a", "b"]);
    expect((await mine.list("roles", "&limit=3")).status).toBe(403);
    expect((await mine.get("role/a")).status).toBe(403);
  });

  it.each(["-a", "a-", ".a", "a b", "a%2Fb", "ä"])("can't have the name %s", async (name) => {
    expect((await at.post(`role/${name}`, vmRole)).status).toBe(404);
  });

  it("can't have a long name", async () => {
    expect((await at.post(`role/${"a".repeat(129)}`, vmRole)).status).toBe(400);
    expect((await at.post(`role/${"a".repeat(128)}`, vmRole)).status).toBe(204);
  });

  it("may be named like what their fields are named", async () => {
    for (const name of ["constructor", "__proto__", "client"]) {
      expect((await at.post(`role/${name}`, vmRole)).status).toBe(204);
      expect((await at.get(`role/${name}`)).status).toBe(200);
    }
  });
});
