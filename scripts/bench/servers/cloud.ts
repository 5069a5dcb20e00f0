import { DocumentSigner, documentOf, signCaller } from "../../../test/support/cloud-login.ts";
import { FakeCloud } from "../../../test/support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../../../test/support/fake-cloud/server.ts";
import { userArn } from "../../../test/support/fake-cloud/world.ts";
import type { LoadRequest } from "../load/request.ts";
import { type Access, call } from "./call.ts";

const ACCOUNT = "111111111111";
const REGION = "eu-west-1";
/** Machines that log in again and again. */
const INSTANCES = 32;

/** A cloud on this machine, and logins of its machines. */
export interface CloudLogins {
  /** Each gets a service token, or a batch token, by a document of its own. */
  readonly service: readonly LoadRequest[];
  readonly batch: readonly LoadRequest[];
  /** The same by a signed request. One is good for as many logins as there are while it is new. */
  readonly signedService: readonly LoadRequest[];
  readonly signedBatch: readonly LoadRequest[];
  stop(): Promise<void>;
}

/** Starts a cloud that answers at once, and mounts the method for it. */
export async function startCloud(access: Access): Promise<CloudLogins> {
  const cloud = new FakeCloud();
  const signer = new DocumentSigner();
  const { endpoint, close } = await serveCloud(cloud);
  const key = cloud.world.addKey(cloud.world.addUser(ACCOUNT, "grove"));
  const write = async (path: string, body: unknown): Promise<void> => {
    const { status } = await call(access, "POST", path, body);
    if (status >= 300) throw new Error(`${path} answered ${status}`);
  };
  const endpoints = { endpoint, iam_endpoint: endpoint, sts_endpoint: endpoint };
  await write("sys/auth/cloud", { type: "cloud" });
  // The load comes from one address.
  await write("sys/quotas/rate-limit/bench", { path: "auth/cloud", rate: 1_000_000 });
  await write("auth/cloud/config/client", { access_key: key.id, secret_key: key.secret, ...endpoints });
  await write("auth/cloud/config/certificate/pkcs7", { cloud_public_cert: signer.pem, type: "pkcs7" });
  const logins = async (type: "service" | "batch"): Promise<LoadRequest[]> => {
    const label = `login-${type}`;
    const fields = { auth_type: "vm", bound_account_id: ACCOUNT, token_policies: "default", token_ttl: "1h" };
    await write(`auth/cloud/role/${type}`, { ...fields, token_type: type });
    return Array.from({ length: INSTANCES }, () => {
      const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(ACCOUNT, REGION)));
      // The same nonce each time: these are the machine's own logins.
      return { label, method: "POST", path: "/v1/auth/cloud/login", body: { role: type, pkcs7, nonce: "bench" } };
    });
  };
  const signedLogins = async (type: "service" | "batch"): Promise<LoadRequest[]> => {
    const role = `signed-${type}`;
    const user = cloud.world.addUser(ACCOUNT, role);
    const fields = { auth_type: "iam", bound_iam_principal_arn: userArn(user), token_policies: "default" };
    await write(`auth/cloud/role/${role}`, { ...fields, token_ttl: "1h", token_type: type });
    const signed = await signCaller(cloud.world.addKey(user));
    return [{ label: `login-${role}`, method: "POST", path: "/v1/auth/cloud/login", body: { role, ...signed } }];
  };
  return {
    service: await logins("service"),
    batch: await logins("batch"),
    signedService: await signedLogins("service"),
    signedBatch: await signedLogins("batch"),
    stop: close,
  };
}
