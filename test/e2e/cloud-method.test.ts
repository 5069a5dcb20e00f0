import vault from "node-vault";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { type Key, userArn } from "../support/fake-cloud/world.ts";
import { statusOf } from "./support/node-vault.ts";
import { type RunningServer, startServe } from "./support/server.ts";

const HOME = "111111111111";
const OTHER = "222222222222";

const VOCABULARIES = [
  { type: "cloud", vm: "vm", image: "bound_image_id", certificate: "cloud_public_cert", alias: "vm_alias" },
  { type: "aws", vm: "ec2", image: "bound_ami_id", certificate: "aws_public_cert", alias: "ec2_alias" },
] as const;

/** Everything of the method but logins (cloud-login.test.ts), as a real client asks for it through the gateway. */
describe("node-vault and the cloud method", () => {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  let cloudServer: CloudServer;
  let server: RunningServer;
  /** Of the server itself. */
  let key: Key;

  beforeAll(async () => {
    cloudServer = await serveCloud(cloud);
    key = cloud.world.addKey(cloud.world.addUser(HOME, "server"));
    server = await startServe({
      env: { CLOUD_ACCESS_KEY: key.id, CLOUD_SECRET_KEY: key.secret },
      flags: ["--allow-private-host=127.0.0.1"],
    });
  });
  afterAll(async () => {
    await server?.stop();
    await cloudServer?.close();
  });

  // A new one each time: node-vault goes on with the token that a call returned.
  const client = () => vault({ endpoint: server.address, token: server.rootToken });

  for (const { type, vm, image, certificate, alias } of VOCABULARIES) {
    describe(`in the vocabulary of ${type}`, () => {
      const at = (path: string) => `auth/${type}/${path}`;
      const read = async (path: string) => (await client().read(at(path))).data;
      const keys = async (path: string) => (await client().list(at(path))).data.keys;
      const write = (path: string, data: Record<string, unknown> = {}) => client().write(at(path), data);
      const remove = (path: string) => client().delete(at(path));
      const gone = async (path: string) => expect(await statusOf(client().read(at(path)))).toBe(404);

      beforeAll(async () => {
        await client().enableAuth({ mount_point: type, type });
      });

      it("mounts it, and shows and tunes the mount", async () => {
        expect((await client().auths()).data[`${type}/`]).toMatchObject({ type });
        await client().write(`sys/auth/${type}/tune`, { max_lease_ttl: "48h" });
        expect((await client().read(`sys/auth/${type}/tune`)).data.max_lease_ttl).toBe(172_800);
      });

      it("configures the client, and rotates its key", async () => {
        const own = cloud.world.addKey(cloud.world.addUser(HOME, `grove-${type}`));
        const { endpoint } = cloudServer;
        await write("config/client", { access_key: own.id, secret_key: own.secret, max_retries: 2 });
        await write("config/client", { endpoint, iam_endpoint: endpoint, sts_endpoint: endpoint });
        await write("config/client", { sts_region: "us-east-1", allowed_sts_header_values: "X-Custom,x-other" });
        expect(await read("config/client")).toEqual({
          access_key: own.id,
          endpoint,
          iam_endpoint: endpoint,
          sts_endpoint: endpoint,
          sts_region: "us-east-1",
          use_sts_region_from_client: false,
          iam_server_id_header_value: "",
          allowed_sts_header_values: ["X-Custom", "X-Other"],
          max_retries: 2,
        });
        const rotated = (await write("config/rotate-root")).data.access_key;
        expect(rotated).not.toBe(own.id);
        expect((await read("config/client")).access_key).toBe(rotated);
      });

      it("configures aliases and metadata", async () => {
        await write("config/identity", {
          iam_alias: "unique_id",
          [alias]: "instance_id",
          iam_metadata: ["client_arn"],
        });
        expect(await read("config/identity")).toMatchObject({
          iam_alias: "unique_id",
          iam_metadata: ["client_arn"],
          [alias]: "instance_id",
        });
        expect(await statusOf(remove("config/identity"))).toBe(405);
      });

      it("registers certificates", async () => {
        await write("config/certificate/first", { [certificate]: signer.pem });
        await write("config/certificate/second", {
          [certificate]: Buffer.from(signer.pem).toString("base64"),
          type: "identity",
        });
        expect(await keys("config/certificates")).toEqual(["first", "second"]);
        expect(await read("config/certificate/second")).toEqual({ [certificate]: signer.pem, type: "identity" });
        await remove("config/certificate/second");
        await gone("config/certificate/second");
      });

      it("associates accounts with roles to assume", async () => {
        await write(`config/sts/${OTHER}`, { sts_role: `arn:aws:iam::${OTHER}:role/Gate` });
        expect(await keys("config/sts")).toEqual([OTHER]);
        expect(await read(`config/sts/${OTHER}`)).toEqual({ sts_role: `arn:aws:iam::${OTHER}:role/Gate` });
        await remove(`config/sts/${OTHER}`);
        expect(await statusOf(client().list(at("config/sts")))).toBe(404);
      });

      it.each([
        "config/tidy/identity-accesslist",
        "config/tidy/roletag-denylist",
        "config/tidy/identity-whitelist",
        "config/tidy/roletag-blacklist",
      ])("keeps %s", async (path) => {
        await write(path, { safety_buffer: "1h", disable_periodic_tidy: true });
        expect(await read(path)).toEqual({ safety_buffer: 3600, disable_periodic_tidy: true });
        await remove(path);
        await gone(path);
      });

      it("keeps roles of both kinds", async () => {
        const alice = cloud.world.addUser(HOME, `alice-${type}`);
        await write("role/Machines", {
          auth_type: vm,
          [image]: ["ami-1", "ami-2"],
          role_tag: "Tag",
          token_policies: "a,b",
        });
        await write("role/people", { bound_iam_principal_arn: userArn(alice), token_ttl: "10m" });
        expect(await read("role/machines")).toMatchObject({
          auth_type: vm,
          [image]: ["ami-1", "ami-2"],
          token_policies: ["a", "b"],
        });
        expect(await read("role/people")).toMatchObject({ bound_iam_principal_id: [alice.id], token_ttl: 600 });
        expect(await keys("roles")).toEqual(["machines", "people"]);
        expect(await keys("role")).toEqual(["machines", "people"]);
        await remove("role/people");
        await gone("role/people");
      });

      it.each(["roletag-denylist", "roletag-blacklist"])("makes role tags, and denies them by %s", async (list) => {
        const tag = (await write("role/machines/tag", { policies: "a", max_ttl: "1h" })).data;
        expect(tag.tag_key).toBe("Tag");
        const raw = encodeURIComponent(tag.tag_value);
        const coded = encodeURIComponent(Buffer.from(tag.tag_value).toString("base64"));
        for (const name of [raw, coded]) {
          await write(`${list}/${name}`);
          expect(await keys(list)).toEqual([tag.tag_value]);
          expect(await read(`${list}/${name}`)).toMatchObject({ expiration_time: expect.stringMatching(/^\d{4}-/) });
          await remove(`${list}/${name}`);
          await gone(`${list}/${name}`);
        }
      });

      it.each(["identity-accesslist", "identity-whitelist"])("shows and forgets logins by %s", async (list) => {
        // Without keys of its own the mount uses those of the server.
        await write("config/client", { access_key: "", secret_key: "" });
        await write("role/web", { auth_type: vm, bound_account_id: HOME });
        const instance = cloud.world.addInstance(HOME, "eu-west-1");
        const { pkcs7 } = signer.sign(documentOf(instance));
        await vault({ endpoint: server.address }).write(at("login"), { role: "web", pkcs7 });
        expect(cloud.callsOf("DescribeInstances").at(-1)?.accessKeyId).toBe(key.id);
        expect(await keys(list)).toEqual([instance.id]);
        expect(await read(`${list}/${instance.id}`)).toMatchObject({ role: "web", disallow_reauthentication: false });
        await remove(`${list}/${instance.id}`);
        await gone(`${list}/${instance.id}`);
      });

      it.each([
        "tidy/identity-accesslist",
        "tidy/roletag-denylist",
        "tidy/identity-whitelist",
        "tidy/roletag-blacklist",
      ])("starts %s", async (path) => {
        // 202, which this client reports as an error of its own: it takes 200 and 204 for success.
        expect([200, 202]).toContain(await statusOf(write(path, { safety_buffer: "0s" })));
      });

      it("clears the client's configuration, and unmounts", async () => {
        await remove("config/client");
        await gone("config/client");
        await client().disableAuth({ mount_point: type });
        expect(await statusOf(client().read(at("roles")))).not.toBe(200);
      });
    });
  }
});
