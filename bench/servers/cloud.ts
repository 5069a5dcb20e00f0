import { DocumentSigner } from "../../test/support/cloud-login.ts";
import { FakeCloud } from "../../test/support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../../test/support/fake-cloud/server.ts";
import { ask, type Client } from "./client.ts";

/** Account and region of the fake instances. */
export const ACCOUNT = "111111111111";
export const REGION = "eu-west-1";

/** A fake cloud for the mount `auth/cloud`. */
export interface LocalCloud {
  readonly cloud: FakeCloud;
  /** Signs instance identity documents. */
  readonly signer: DocumentSigner;
  stop(): Promise<void>;
}

/** Starts a fake cloud, then mounts and configures `auth/cloud`. */
export async function startCloud(root: Client): Promise<LocalCloud> {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  const { endpoint, close } = await serveCloud(cloud);
  const { id, secret } = cloud.world.addKey(cloud.world.addUser(ACCOUNT, "grove"));
  const endpoints = { endpoint, iam_endpoint: endpoint, sts_endpoint: endpoint };
  await mountMethod(root, "cloud");
  await ask(root, "POST", "v1/auth/cloud/config/client", { access_key: id, secret_key: secret, ...endpoints });
  await ask(root, "POST", "v1/auth/cloud/config/certificate/pkcs7", { cloud_public_cert: signer.pem, type: "pkcs7" });
  return { cloud, signer, stop: close };
}

/** Mounts an auth method at the path of its type, with a rate limit that does not throttle logins from one address. */
export async function mountMethod(root: Client, type: "cloud" | "jwt" | "approle" | "kubernetes"): Promise<void> {
  await ask(root, "POST", `v1/sys/auth/${type}`, { type });
  await ask(root, "POST", `v1/sys/quotas/rate-limit/bench-${type}`, { path: `auth/${type}`, rate: 1_000_000 });
}
