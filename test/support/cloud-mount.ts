import { type DocumentSigner, documentOf, signCaller } from "./cloud-login.ts";
import type { FakeCloud } from "./fake-cloud/fake-cloud.ts";
import type { Instance, Key, User } from "./fake-cloud/world.ts";
import { type Answer, call, callApart } from "./service.ts";

/** The account of the server's own credentials in the fake cloud. */
export const HOME = "111111111111";
/** Another account. */
export const OTHER = "222222222222";

/** A mounted cloud method that reaches the fake cloud with a key of its own. */
export class CloudMount {
  readonly path: string;
  readonly #root: string;
  readonly #signer: DocumentSigner;

  constructor(path: string, root: string, signer: DocumentSigner) {
    this.path = path;
    this.#root = root;
    this.#signer = signer;
  }

  /** Writes below the mount; any answer but a success is an error of the test. */
  async write(path: string, body: Record<string, unknown>): Promise<Answer> {
    const answer = await this.call("POST", path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  call(method: string, path: string, body?: Record<string, unknown>): Promise<Answer> {
    return call(method, `auth/${this.path}/${path}`, { token: this.#root, ...(body && { body }) });
  }

  /** Logs in by the document of an instance, in the form of the rsa2048 endpoint. */
  loginInstance(
    instance: Instance,
    fields: Record<string, unknown> = {},
    pendingTime?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const { pkcs7 } = this.#signer.sign(documentOf(instance, pendingTime));
    return this.login({ pkcs7, ...fields }, headers);
  }

  /** Logs in by a request signed with a key. */
  async loginCaller(key: Key, fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    return this.login({ ...(await signCaller(key)), ...fields }, headers);
  }

  login(fields: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Answer> {
    return callApart("POST", `auth/${this.path}/login`, { body: fields, headers });
  }

  /** Renews a token by itself. */
  renew(token: string, increment?: string): Promise<Answer> {
    return call("POST", "auth/token/renew-self", { token, body: increment === undefined ? {} : { increment } });
  }
}

/** The user whose key the server has, made once for a fake cloud. */
export function serverUser(cloud: FakeCloud): User {
  return cloud.world.users.find((user) => user.name === "grove") ?? cloud.world.addUser(HOME, "grove");
}

/** Mounts the method, with a key in the fake cloud and the signer's certificate. */
export async function mountCloud(
  root: string,
  path: string,
  cloud: FakeCloud,
  signer: DocumentSigner,
  type: "cloud" | "aws" = "cloud",
): Promise<CloudMount> {
  const enabled = await call("POST", `sys/auth/${path}`, { token: root, body: { type } });
  if (enabled.status !== 204) throw new Error(`sys/auth answered ${enabled.status}`);
  const mount = new CloudMount(path, root, signer);
  const key = cloud.world.addKey(serverUser(cloud));
  await mount.write("config/client", { access_key: key.id, secret_key: key.secret });
  const certificate = type === "aws" ? "aws_public_cert" : "cloud_public_cert";
  for (const kind of ["pkcs7", "identity"]) {
    await mount.write(`config/certificate/${kind}`, { [certificate]: signer.pem, type: kind });
  }
  return mount;
}

/** Status and first error text of an answer. */
export function refusalOf(answer: Answer): readonly [number, string | undefined] {
  return [answer.status, answer.body?.errors?.[0]];
}
