import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SECRET_KEY } from "../../../../src/methods/aws/clients/client-config.ts";
import { openCloudSecret } from "../../../../src/methods/aws/cloud-secrets.ts";
import { loadInstallation } from "../../../../src/system/installation.ts";
import aws from "../../../conformance/aws.json";
import { cloudAt, cloudObject, enableCloud, mountRow, VOCABULARIES } from "../../../support/cloud.ts";
import { storedText } from "../../../support/rows.ts";
import { bindings, call, createToken, initialized } from "../../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

/** A certificate of somebody, as base64 of its PEM. */
const CERTIFICATE = aws.find(({ name }) => name === "certificate write")?.body?.aws_public_cert ?? "";
const PEM = atob(CERTIFICATE);

describe.each(VOCABULARIES)("configuration of a mount of the type $type", (words) => {
  let at: ReturnType<typeof cloudAt>;
  let count = 0;

  beforeEach(async () => {
    at = await enableCloud(root, `config-${words.type}-${count++}`, words.type);
  });

  describe("client", () => {
    it("is partly written, read without its secret, and deleted", async () => {
      expect((await at.get("config/client")).status).toBe(404);
      await at.post("config/client", {
        access_key: "AKIA1",
        secret_key: "swordfish",
        sts_endpoint: "https://sts.example",
      });
      expect(await at.post("config/client", { sts_region: "eu-west-1", max_retries: "2" })).toMatchObject({
        status: 204,
      });
      const read = await at.get("config/client");
      expect(read.body.data).toEqual({
        access_key: "AKIA1",
        endpoint: "",
        iam_endpoint: "",
        sts_endpoint: "https://sts.example",
        sts_region: "eu-west-1",
        use_sts_region_from_client: false,
        iam_server_id_header_value: "",
        max_retries: 2,
        allowed_sts_header_values: [],
      });
      expect((await at.remove("config/client")).status).toBe(204);
      expect((await at.remove("config/client")).status).toBe(204);
      expect((await at.get("config/client")).status).toBe(404);
    });

    it("keeps its secret sealed, for this mount alone", async () => {
      await at.post("config/client", { access_key: "AKIA1", secret_key: "swordfish" });
      await at.post("config/client", { access_key: "AKIA2" });
      const stored = await storedText(await cloudObject(at.path));
      expect(stored).toContain("AKIA2");
      expect(stored).not.toContain("swordfish");
      expect(stored).not.toContain(btoa("swordfish"));
      const sealed = (await (await cloudObject(at.path)).readClient())?.sealedSecretKey ?? "";
      const loaded = await loadInstallation(bindings);
      if (!loaded.ok) throw new Error("not initialised");
      const { keys } = loaded.value;
      expect(await openCloudSecret(keys, await mountRow(at.path), SECRET_KEY, sealed)).toBe("swordfish");
      await expect(openCloudSecret(keys, { uuid: "another" }, SECRET_KEY, sealed)).rejects.toThrow("does not open");
      await expect(openCloudSecret(keys, await mountRow(at.path), "other", sealed)).rejects.toThrow("does not open");
    });

    it("says that a region alone has no effect", async () => {
      const answer = await at.post("config/client", { sts_region: "eu-west-1" });
      expect([answer.status, answer.body]).toEqual([204, null]);
      expect((await at.get("config/client")).body.warnings).toEqual(["sts_region has no effect without sts_endpoint"]);
    });

    it("does not repeat what it refuses, and stores nothing of it", async () => {
      const answer = await at.post("config/client", { access_key: "AKIA1", endpoint: "http://swordfish.example" });
      expect([answer.status, answer.body.errors]).toEqual([400, ["endpoint must be an https URL"]]);
      expect((await at.get("config/client")).status).toBe(404);
    });
  });

  describe("rotate-root", () => {
    it.each([
      [{}, "can't update access_key because it's unset"],
      [{ access_key: "AKIA1" }, "can't update secret_key because it's unset"],
      [{ access_key: "AKIA1", secret_key: "" }, "can't update secret_key because it's unset"],
      [{ secret_key: "s" }, "can't update access_key because it's unset"],
    ])("needs both keys: %j", async (body, message) => {
      expect((await at.post("config/rotate-root")).body.errors).toEqual([
        "can't update client config because it's unset",
      ]);
      await at.post("config/client", body);
      expect((await at.post("config/rotate-root")).body.errors).toEqual([message]);
    });
  });

  describe("identity", () => {
    it("is partly written in the vocabulary of the mount, and its lists are sorted in it", async () => {
      await at.post("config/identity", { [words.vm_alias]: "image_id" });
      await at.post("config/identity", { [words.vm_metadata]: `region,${words.image_id},auth_type` });
      await at.post("config/identity", { iam_metadata: [words.inferred_cloud_region, "account_id"] });
      expect((await at.get("config/identity")).body.data).toEqual({
        iam_alias: "role_id",
        iam_metadata: ["account_id", words.inferred_cloud_region],
        [words.vm_alias]: "image_id",
        [words.vm_metadata]: [words.image_id, "auth_type", "region"].sort(),
      });
    });

    it("stores nothing when one of its fields is refused", async () => {
      const answer = await at.post("config/identity", { iam_alias: "full_arn", [words.vm_alias]: "unique_id" });
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [`${words.vm_alias} of "unique_id" not in set of allowed values: [role_id instance_id image_id]`],
      ]);
      expect((await at.get("config/identity")).body.data.iam_alias).toBe("role_id");
    });

    it("names the metadata in the mount's vocabulary", async () => {
      const answer = await at.post("config/identity", { [words.vm_metadata]: "client_arn" });
      expect(answer.body.errors).toEqual([
        `"client_arn" contains an unavailable field, please select from "account_id, auth_type, ${words.image_id}, instance_id, region"`,
      ]);
    });

    it("can't be deleted", async () => {
      expect((await at.remove("config/identity")).status).toBe(405);
    });
  });

  describe("certificates", () => {
    const field = words.cloud_public_cert;

    it("come as base64 or as PEM, and are read as PEM", async () => {
      await at.post("config/certificate/a", { [field]: CERTIFICATE });
      await at.post("config/certificate/b", { [field]: PEM, type: "IDENTITY" });
      expect((await at.get("config/certificate/a")).body.data).toEqual({ [field]: PEM, type: "pkcs7" });
      expect((await at.get("config/certificate/b")).body.data).toEqual({ [field]: PEM, type: "identity" });
      expect((await at.list("config/certificates")).body.data.keys).toEqual(["a", "b"]);
      for (const name of ["a", "b", "b"]) expect((await at.remove(`config/certificate/${name}`)).status).toBe(204);
      expect((await at.list("config/certificates")).status).toBe(404);
    });

    it("keep their type when they are replaced without one", async () => {
      await at.post("config/certificate/a", { [field]: PEM, type: "identity" });
      await at.post("config/certificate/a", { [field]: CERTIFICATE });
      expect((await at.get("config/certificate/a")).body.data.type).toBe("identity");
      await at.post("config/certificate/a", { [field]: CERTIFICATE, type: "pkcs7" });
      expect((await at.get("config/certificate/a")).body.data.type).toBe("pkcs7");
    });

    it.each([
      ["nothing", {}, `missing ${field}`],
      ["an empty one", { [field]: "" }, `invalid ${field}`],
      ["a wrong type first", { type: "gold" }, 'invalid certificate type "gold"'],
      ["text", { [field]: "swordfish" }, `invalid ${field}; `],
      ["two at once", { [field]: PEM + PEM }, `invalid ${field}; `],
      ["a broken one", { [field]: PEM.replace("MIID", "MIIE") }, `invalid ${field}; `],
      ["a list", { [field]: [PEM] }, `Field validation failed: error converting input for field "${field}"`],
    ])("that are no certificate are refused: %s", async (_, body, message) => {
      const answer = await at.post("config/certificate/a", body);
      expect(answer.status).toBe(400);
      expect(answer.body.errors[0]).toContain(message);
      expect(JSON.stringify(answer.body)).not.toContain("swordfish");
      expect((await at.get("config/certificate/a")).status).toBe(404);
    });
  });

  describe("roles to assume", () => {
    const ARN = "arn:aws:iam::123456789012:role/satellite";

    it("are written, kept when a write does not name one, and listed", async () => {
      expect((await at.post("config/sts/123456789012")).body.errors).toEqual(["missing sts role"]);
      expect((await at.post("config/sts/123456789012", { sts_role: ARN })).status).toBe(204);
      expect((await at.post("config/sts/123456789012")).status).toBe(204);
      expect((await at.get("config/sts/123456789012")).body.data).toEqual({ sts_role: ARN });
      expect((await at.list("config/sts")).body.data.keys).toEqual(["123456789012"]);
      expect((await at.remove("config/sts/123456789012")).status).toBe(204);
      expect((await at.get("config/sts/123456789012")).status).toBe(404);
    });

    it("have an external ID when one is sent, until it is sent empty", async () => {
      await at.post("config/sts/123456789012", { sts_role: ARN, external_id: "tenant-7" });
      await at.post("config/sts/123456789012", { sts_role: ARN });
      expect((await at.get("config/sts/123456789012")).body.data).toEqual({ sts_role: ARN, external_id: "tenant-7" });
      expect((await at.post("config/sts/123456789012", { external_id: "no blanks" })).status).toBe(400);
      await at.post("config/sts/123456789012", { external_id: "" });
      expect((await at.get("config/sts/123456789012")).body.data).toEqual({ sts_role: ARN });
      await at.remove("config/sts/123456789012");
    });

    it("are refused when empty and warned of when odd", async () => {
      expect((await at.post("config/sts/1", { sts_role: "" })).body.errors).toEqual(["sts role cannot be empty"]);
      const answer = await at.post("config/sts/1", { sts_role: ARN });
      expect([answer.status, answer.body]).toEqual([204, null]);
      expect((await at.get("config/sts/1")).body.warnings).toEqual([expect.stringContaining("another account")]);
    });
  });

  describe("tidy settings", () => {
    it.each([
      ["identity-accesslist", "identity-whitelist"],
      ["roletag-denylist", "roletag-blacklist"],
    ])("of %s are the same at %s; 72 h unless written", async (name, deprecated) => {
      expect((await at.get(`config/tidy/${name}`)).status).toBe(404);
      await at.post(`config/tidy/${deprecated}`, { disable_periodic_tidy: true });
      expect((await at.get(`config/tidy/${name}`)).body.data).toEqual({
        safety_buffer: 259_200,
        disable_periodic_tidy: true,
      });
      await at.post(`config/tidy/${name}`, { safety_buffer: "60" });
      expect((await at.get(`config/tidy/${deprecated}`)).body.data).toEqual({
        safety_buffer: 60,
        disable_periodic_tidy: true,
      });
      expect((await at.post(`config/tidy/${name}`, { safety_buffer: "-1" })).status).toBe(400);
      expect((await at.remove(`config/tidy/${deprecated}`)).status).toBe(204);
      expect((await at.get(`config/tidy/${name}`)).status).toBe(404);
    });
  });

  it("needs create for what is not there and update for what is", async () => {
    const name = `writer-${at.path}`;
    const bodies: Record<string, unknown> = {
      "config/client": { max_retries: 1 },
      "config/certificate/a": { [words.cloud_public_cert]: PEM },
      "config/sts/1": { sts_role: "arn:aws:iam::1:role/a" },
      "config/tidy/roletag-denylist": { safety_buffer: 1 },
      "role/a": { auth_type: words.vm, bound_vpc_id: "vpc-1" },
    };
    const withRight = async (capability: string) => {
      const policy = `path "auth/${at.path}/*" { capabilities = ["${capability}"] }`;
      await call("POST", `sys/policies/acl/${name}-${capability}`, { token: root, body: { policy } });
      const { client_token } = await createToken(root, { policies: [`${name}-${capability}`] });
      return cloudAt(client_token, at.path);
    };
    const creator = await withRight("create");
    const updater = await withRight("update");
    for (const [path, body] of Object.entries(bodies)) {
      expect((await updater.post(path, body)).status, `update of ${path}`).toBe(403);
      expect((await creator.post(path, body)).status, `creation of ${path}`).toBeLessThan(300);
      expect((await creator.post(path, body)).status, `repeated creation of ${path}`).toBe(403);
      expect((await updater.post(path, body)).status, `later update of ${path}`).toBeLessThan(300);
    }
    for (const path of ["config/identity", "tidy/roletag-denylist", "config/rotate-root"]) {
      expect((await creator.post(path)).status, path).toBe(403);
    }
  });
});

it("a mount does not accept the vocabulary of the other type", async () => {
  const cloud = await enableCloud(root, "words-cloud", "cloud");
  const ec2 = await enableCloud(root, "words-aws", "aws");
  expect((await cloud.post("config/certificate/a", { aws_public_cert: PEM })).body.errors).toEqual([
    "missing cloud_public_cert",
  ]);
  expect((await ec2.post("config/certificate/a", { cloud_public_cert: PEM })).body.errors).toEqual([
    "missing aws_public_cert",
  ]);
  expect((await ec2.post("role/a", { auth_type: "vm", bound_vpc_id: "v" })).body.errors).toEqual([
    "unrecognized auth_type: vm",
  ]);
  expect((await cloud.post("role/a", { auth_type: "ec2", bound_vpc_id: "v" })).body.errors).toEqual([
    "unrecognized auth_type: ec2",
  ]);
  const role = { auth_type: "ec2", bound_vpc_id: "v", hmac_key: "x", token_max_ttl: "9000h" };
  // One bound less would let more clients in.
  expect((await ec2.post("role/a", { ...role, bound_image_id: "ami-1" })).body.errors).toEqual([
    "this endpoint does not know these parameters: [bound_image_id]",
  ]);
  const warned = await ec2.post("role/a", role);
  expect(warned.body.warnings).toContain("Endpoint ignored these unrecognized parameters: [hmac_key]");
  expect((await ec2.get("role/a")).body.data.bound_ami_id).toEqual([]);
});
