import { exportSPKI, generateKeyPair, SignJWT } from "jose";
import { DocumentSigner, documentOf, signCaller } from "../../test/support/cloud-login.ts";
import { userArn } from "../../test/support/fake-cloud/world.ts";
import type { LoadRequest } from "../load.ts";
import { ask, type Client } from "../servers/client.ts";
import { ACCOUNT, type LocalCloud, mountMethod, REGION, startCloud } from "../servers/cloud.ts";
import { type LocalCluster, startCluster } from "../servers/cluster.ts";

/** A login method and its requests. */
export interface LoginKind {
  readonly name: string;
  readonly requests: readonly LoadRequest[];
  /** Target: CPU time of the Worker per login (us). */
  readonly atMost?: number;
}

/** Number of instances that log in repeatedly. */
const INSTANCES = 32;
/** Number of distinct signed requests, one for each second of ten minutes. */
const SIGNATURES = 600;
const TOKEN = { token_policies: "default", token_ttl: "1h" };

/** The login requests, and the services that the server calls for them, which run until `stop`. */
export interface Logins {
  readonly kinds: readonly LoginKind[];
  stop(): Promise<void>;
}

/** Starts a fake cloud and prepares the requests of each login method. */
export async function loginRequests(root: Client): Promise<Logins> {
  const cloud = await startCloud(root);
  const common = await commonLogins(root, "public CAs");
  const kinds = [
    { name: "login by a vm document", requests: await byDocument(root, cloud, "service"), atMost: 3500 },
    { name: "the same, batch token", requests: await byDocument(root, cloud, "batch") },
    { name: "login by a signed request", requests: await bySignedRequest(root, cloud), atMost: 2800 },
    ...common.kinds,
    { name: "login by AppRole, token ends with its secret-id", requests: await byAppRole(root, "ending", ENDING) },
  ];
  const stop = async () => {
    await Promise.all([cloud.stop(), common.stop()]);
  };
  return { kinds, stop };
}

type Trust = "public CAs" | "any CA";

const ENDING = { token_ends_with_secret_id: true };

/**
 * Prepares the logins that another server with the same API also supports.
 *
 * @param trust how the server learns to trust the cluster's API server, which it calls without TLS. Grove accepts no CA
 *   certificate of a cluster, and the other server requires one.
 */
export async function commonLogins(root: Client, trust: Trust): Promise<Logins> {
  const cluster = await startCluster();
  await mountMethod(root, "approle");
  const kinds = [
    { name: "login by a JWT", requests: await byJwt(root) },
    { name: "login by a service account", requests: await byServiceAccount(root, cluster, trust) },
    { name: "login by AppRole", requests: await byAppRole(root, "job", {}) },
  ];
  return { kinds, stop: () => cluster.stop() };
}

async function byDocument(root: Client, { cloud, signer }: LocalCloud, type: string): Promise<LoadRequest[]> {
  const role = { auth_type: "vm", bound_account_id: ACCOUNT, token_type: type, ...TOKEN };
  await ask(root, "POST", `v1/auth/cloud/role/${type}`, role);
  return Array.from({ length: INSTANCES }, () => {
    const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(ACCOUNT, REGION)));
    // Repeated logins of one instance must present the same nonce.
    return login("cloud", { role: type, pkcs7, nonce: "bench" });
  });
}

/** Prepares requests signed in different seconds, because the server accepts one signature for 100 logins only. */
async function bySignedRequest(root: Client, { cloud }: LocalCloud): Promise<LoadRequest[]> {
  const user = cloud.world.addUser(ACCOUNT, "signed");
  const role = { auth_type: "iam", bound_iam_principal_arn: userArn(user), ...TOKEN };
  await ask(root, "POST", "v1/auth/cloud/role/signed", role);
  const key = cloud.world.addKey(user);
  const now = Date.now();
  const signed = Array.from({ length: SIGNATURES }, (_, i) =>
    signCaller(key, { now: now + (i - SIGNATURES / 2) * 1000 }),
  );
  return (await Promise.all(signed)).map((fields) => login("cloud", { role: "signed", ...fields }));
}

async function byJwt(root: Client): Promise<LoadRequest[]> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  await mountMethod(root, "jwt");
  await ask(root, "POST", "v1/auth/jwt/config", { jwt_validation_pubkeys: await exportSPKI(publicKey) });
  const role = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", ...TOKEN };
  await ask(root, "POST", "v1/auth/jwt/role/job", role);
  const claims = new SignJWT({ sub: "job", aud: "grove" }).setProtectedHeader({ alg: "ES256" });
  const jwt = await claims.setIssuedAt().setExpirationTime("12h").sign(privateKey);
  return [login("jwt", { role: "job", jwt })];
}

async function byServiceAccount(root: Client, { url, jwt }: LocalCluster, trust: Trust): Promise<LoadRequest[]> {
  await mountMethod(root, "kubernetes");
  const ca = trust === "any CA" && { kubernetes_ca_cert: new DocumentSigner().pem };
  const config = { kubernetes_host: url, token_reviewer_jwt: jwt, disable_local_ca_jwt: true, ...ca };
  await ask(root, "POST", "v1/auth/kubernetes/config", config);
  const bound = { bound_service_account_names: "job", bound_service_account_namespaces: "bench" };
  await ask(root, "POST", "v1/auth/kubernetes/role/job", { ...bound, ...TOKEN });
  return [login("kubernetes", { role: "job", jwt })];
}

/** Prepares logins with one secret-id that has unlimited uses. */
async function byAppRole(
  root: Client,
  role: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<LoadRequest[]> {
  const path = `v1/auth/approle/role/${role}`;
  await ask(root, "POST", path, { role_id: role, ...TOKEN, ...fields });
  await ask(root, "POST", `${path}/custom-secret-id`, { secret_id: "bench" });
  return [login("approle", { role_id: role, secret_id: "bench" })];
}

function login(mount: string, body: unknown): LoadRequest {
  return { method: "POST", path: `/v1/auth/${mount}/login`, body };
}
