import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import {
  makeCertificate,
  makeMessage,
  makeSigner,
  type TestCertificate,
  toPem,
} from "../unit/methods/aws/documents/make.ts";
import type { Instance, Key } from "./fake-cloud/world.ts";

/** The three values of the metadata service that prove an instance's document. */
export interface SignedDocument {
  readonly identity: string;
  readonly signature: string;
  readonly pkcs7: string;
}

/** Signs instance identity documents as the cloud does, with a key that a test registers. */
export class DocumentSigner {
  readonly #key: KeyObject = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  readonly #certificate: TestCertificate = makeCertificate("Grove test cloud", this.#key, 7);

  /** The certificate as it is registered. */
  get pem(): string {
    return toPem(this.#certificate.der);
  }

  sign(document: Readonly<Record<string, unknown>>): SignedDocument {
    return this.signText(JSON.stringify(document));
  }

  signText(text: string): SignedDocument {
    const content = new TextEncoder().encode(text);
    const signer = makeSigner(content, { key: this.#key, certificate: this.#certificate, attributes: null });
    return {
      identity: Buffer.from(content).toString("base64"),
      signature: sign("sha256", content, this.#key).toString("base64"),
      pkcs7: Buffer.from(makeMessage(content, { signers: [signer] })).toString("base64"),
    };
  }
}

/** What the metadata service says about an instance that was started at `pendingTime`. */
export function documentOf(instance: Instance, pendingTime = "2026-11-01T10:00:00Z"): Record<string, unknown> {
  return {
    accountId: instance.accountId,
    architecture: "arm64",
    availabilityZone: `${instance.region}a`,
    imageId: instance.imageId,
    instanceId: instance.id,
    instanceType: "t4g.small",
    pendingTime,
    region: instance.region,
    version: "2017-09-30",
  };
}

/** How a caller signs its request. */
export interface CallerOptions {
  readonly method?: "POST" | "GET";
  readonly region?: string;
  readonly host?: string;
  /** Signed headers besides those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** ms. */
  readonly now?: number;
}

const FORM = "Action=GetCallerIdentity&Version=2011-06-15";

/** The fields of an iam login, signed with a key. */
export async function signCaller(key: Key, options: CallerOptions = {}): Promise<Record<string, unknown>> {
  const { method = "POST", region = "us-east-1", host = "sts.amazonaws.com", headers = {} } = options;
  const signer = new AwsV4Signer({
    method,
    url: `https://${host}/${method === "GET" ? `?${FORM}` : ""}`,
    headers: { ...headers, ...(method === "POST" && { "Content-Type": FORM_TYPE }) },
    ...(method === "POST" && { body: FORM }),
    accessKeyId: key.id,
    secretAccessKey: key.secret,
    ...(key.token !== null && { sessionToken: key.token }),
    service: "sts",
    region,
    datetime: new Date(options.now ?? Date.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    signQuery: method === "GET",
    allHeaders: true,
  });
  const signed = await signer.sign();
  return {
    iam_http_request_method: method,
    iam_request_url: base64(signed.url.toString()),
    ...(method === "POST" && { iam_request_body: base64(FORM) }),
    iam_request_headers: base64(JSON.stringify(Object.fromEntries(signed.headers))),
  };
}

const FORM_TYPE = "application/x-www-form-urlencoded; charset=utf-8";

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
