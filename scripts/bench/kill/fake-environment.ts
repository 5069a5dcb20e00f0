import { DocumentSigner } from "../../../test/support/cloud-login.ts";
import { FakeCloud } from "../../../test/support/fake-cloud/fake-cloud.ts";
import { type CloudServer, serveCloud } from "../../../test/support/fake-cloud/server.ts";
import { type Client, send, TEAMS } from "./client.ts";
import { Engine } from "./engine.ts";

/** The account that the instances are in. */
export const ACCOUNT = "111111111111";
export const REGION = "eu-west-1";
/** The organization that the teams are in. */
export const ORGANIZATION = "kill";
/** The role of the cloud method that instances log in to. */
export const LOGIN_ROLE = "machine";

/** What is around the server, and survives it: a cloud, and an engine that hangs leases on tokens. */
export interface FakeEnvironment {
  readonly cloud: FakeCloud;
  readonly signer: DocumentSigner;
  readonly engine: Engine;
  close(): Promise<void>;
}

/** Starts what is around the server, and makes on the server what all writers share. */
export async function startFakeEnvironment(root: Client): Promise<FakeEnvironment> {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  const engine = await Engine.start();
  const server = await serveCloud(cloud);
  await mountCloud(root, cloud, server, signer);
  const organization = {
    data: { type: "organizations", attributes: { name: ORGANIZATION, email: "kill@example.com" } },
  };
  await must(root, "POST", `${TEAMS}/organizations`, organization);
  return {
    cloud,
    signer,
    engine,
    async close() {
      engine.close();
      await server.close();
    },
  };
}

async function mountCloud(root: Client, cloud: FakeCloud, { endpoint }: CloudServer, signer: DocumentSigner) {
  const key = cloud.world.addKey(cloud.world.addUser(ACCOUNT, "grove"));
  await must(root, "POST", "v1/sys/auth/cloud", { type: "cloud" });
  // The load comes from one address.
  await must(root, "PUT", "v1/sys/quotas/rate-limit/load", { path: "auth/cloud", rate: 1_000_000 });
  await must(root, "POST", "v1/auth/cloud/config/client", {
    access_key: key.id,
    secret_key: key.secret,
    endpoint,
    iam_endpoint: endpoint,
    sts_endpoint: endpoint,
  });
  await must(root, "POST", "v1/auth/cloud/config/certificate/pkcs7", { cloud_public_cert: signer.pem, type: "pkcs7" });
  await must(root, "POST", `v1/auth/cloud/role/${LOGIN_ROLE}`, {
    auth_type: "vm",
    bound_account_id: ACCOUNT,
    token_policies: "default",
    token_ttl: "24h",
  });
}

async function must(root: Client, method: string, path: string, body: unknown): Promise<void> {
  const { status } = await send(root, method, path, body);
  if (status >= 300) throw new Error(`${path} answered ${status}`);
}
