import vault from "node-vault";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocumentSigner, documentOf, signCaller } from "../support/cloud-login.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../support/fake-cloud/server.ts";
import { type Key, roleArn } from "../support/fake-cloud/world.ts";
import { call, type RunningServer, startServe } from "./support/server.ts";

const HOME = "111111111111";
const SERVER_ID = "X-Service-Cloud-IAM-Server-ID";

/** Logins of every kind, by raw HTTP and by a real client, in both vocabularies, over real connections to a cloud. */
describe("logins against a cloud", () => {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  let cloudServer: CloudServer;
  let server: RunningServer;
  let session: Key;

  beforeAll(async () => {
    cloudServer = await serveCloud(cloud);
    cloud.world.addRole(HOME, "Machine");
    const worker = cloud.world.addRole(HOME, "Worker");
    session = cloud.world.addSession(worker, "job", Date.now() + 3_600_000);
    server = await startServe({
      env: { AWS_EC2_METADATA_SERVICE_ENDPOINT: cloudServer.endpoint },
      // A fleet that logs in from one address needs more than its share.
      flags: ["--allow-private-host=127.0.0.1", "--client-share=100"],
    });
    await configure("cloud", { kind: "vm", certificate: "cloud_public_cert", worker: roleArn(worker) });
    await configure("aws", { kind: "ec2", certificate: "aws_public_cert", worker: roleArn(worker) });
  });
  afterAll(async () => {
    await server?.stop();
    await cloudServer?.close();
  });

  const write = async (path: string, body: Record<string, unknown>): Promise<void> => {
    const answer = await call(server, "POST", `/v1/${path}`, { token: server.rootToken, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };

  async function configure(type: string, words: { kind: string; certificate: string; worker: string }): Promise<void> {
    const { endpoint } = cloudServer;
    await write(`sys/auth/${type}`, { type });
    await write(`auth/${type}/config/client`, {
      endpoint,
      iam_endpoint: endpoint,
      sts_endpoint: endpoint,
      sts_region: "us-east-1",
      iam_server_id_header_value: "grove.test",
    });
    for (const name of ["pkcs7", "identity"]) {
      await write(`auth/${type}/config/certificate/${name}`, { [words.certificate]: signer.pem, type: name });
    }
    await write(`auth/${type}/role/web`, { auth_type: words.kind, bound_account_id: HOME, token_policies: "web" });
    await write(`auth/${type}/role/worker`, { bound_iam_principal_arn: words.worker, token_policies: "work" });
  }

  const kinds: Record<string, (header: string) => Promise<Record<string, unknown>>> = {
    "a document with PKCS#7": async () => {
      const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
      return { role: "web", pkcs7, nonce: "n" };
    },
    "a document and its signature": async () => {
      const { identity, signature } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
      return { role: "web", identity, signature, nonce: "n" };
    },
    "a signed POST": async (header) => ({
      role: "worker",
      ...(await signCaller(session, { headers: { [header]: "grove.test" } })),
    }),
    "a pre-signed GET": async (header) => ({
      role: "worker",
      ...(await signCaller(session, { method: "GET", headers: { [header]: "grove.test" } })),
    }),
  };
  const vocabularies = [
    { type: "cloud", header: SERVER_ID, vm: "vm" },
    { type: "aws", header: "X-Vault-AWS-IAM-Server-ID", vm: "ec2" },
  ];

  for (const { type, header, vm } of vocabularies) {
    describe(`in the vocabulary of ${type}`, () => {
      for (const [name, fields] of Object.entries(kinds)) {
        it(`${name}, by raw HTTP`, async () => {
          const made = await fields(header);
          const answer = await call(server, "POST", `/v1/auth/${type}/login`, { body: made });
          const auth = answer.body.auth as { client_token: string; metadata: Record<string, string> };
          expect(answer.status, JSON.stringify(answer.body)).toBe(200);
          expect(auth.metadata).toMatchObject({ auth_type: made.role === "web" ? vm : "iam", account_id: HOME });
          const token = auth.client_token;
          const renewed = await call(server, "POST", "/v1/auth/token/renew-self", { token, body: {} });
          expect(renewed.status).toBe(200);
        });

        it(`${name}, by node-vault`, async () => {
          const client = vault({ endpoint: server.address });
          const made = await fields(header);
          const answer =
            made.role === "worker" && type === "aws" && made.iam_http_request_method === "POST"
              ? await client.awsIamLogin(made as never)
              : await client.write(`auth/${type}/login`, made);
          expect(answer.auth.client_token).toMatch(/^s\./);
          client.token = answer.auth.client_token;
          const seen = await client.tokenLookupSelf();
          expect(seen.data.policies).toEqual(["default", made.role === "web" ? "web" : "work"]);
          expect((await client.tokenRenewSelf()).auth.client_token).toBe(answer.auth.client_token);
        });
      }
    });
  }

  it("of a fleet at the same time share the calls, made with the credentials of Grove's machine", async () => {
    cloud.calls.length = 0;
    // As far away as a cloud is: calls take long enough for logins to meet.
    cloud.beforeAnswer = () => new Promise((resolve) => setTimeout(resolve, 300));
    const logins = Array.from({ length: 20 }, async () => {
      const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
      return call(server, "POST", "/v1/auth/cloud/login", { body: { role: "web", pkcs7 } });
    });
    const statuses = (await Promise.all(logins)).map(({ status }) => status);
    cloud.beforeAnswer = async () => {};
    expect(statuses).toEqual(statuses.map(() => 200));
    expect(cloud.callsOf("DescribeInstances").length).toBeLessThanOrEqual(6);
    const [used] = cloud.callsOf("DescribeInstances");
    expect(used && cloud.world.keyById(used.accessKeyId)?.holder).toMatchObject({ role: { name: "Machine" } });
  });

  it("are not judged by the host that a redirect leads to", async () => {
    const elsewhere = new FakeCloud();
    elsewhere.world.keys.push(...cloud.world.keys);
    const other = await serveCloud(elsewhere);
    const reply = { status: 307, headers: { location: `${other.endpoint}/` }, body: "" };
    cloud.fail("sts", { kind: "reply", reply });
    const answer = await call(server, "POST", "/v1/auth/cloud/login", {
      body: await kinds["a signed POST"]?.(SERVER_ID),
    });
    cloud.heal();
    await other.close();
    expect(answer.status).toBe(400);
    expect(elsewhere.calls).toEqual([]);
  });

  it("get a 503 while the cloud is down, and work again without a restart", async () => {
    const login = async () =>
      fetch(`${server.address}/v1/auth/cloud/login`, {
        method: "POST",
        body: JSON.stringify(await kinds["a signed POST"]?.(SERVER_ID)),
      });
    cloud.fail("sts", { kind: "unreachable" });
    const answer = await login();
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "5"]);
    cloud.heal();
    expect((await login()).status).toBe(200);
  });
});
