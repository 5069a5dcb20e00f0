import { errors, exportJWK, generateKeyPair, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { vi } from "vitest";

/** The host of the fake API server. */
export const CLUSTER = "https://cluster.example.com";
/** The audience of the API server itself: by default its issuer. */
export const OWN_AUDIENCE = CLUSTER;
/** The issuer of tokens that secrets store. */
const STORED_ISSUER = "kubernetes/serviceaccount";

export interface Account {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

/** What the fake server was asked. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly bearer: string;
  readonly body: unknown;
}

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

/**
 * The API server of a cluster, as far as TokenReview, service accounts, namespaces and the documents of its issuer go. It checks
 * what it is asked as the real one does: who asks and with what rights, the form of a request, and of a token its signature, its
 * time, its issuer, its audience and that its service account is there. Statuses and bodies are those of kube-apiserver 1.34,
 * without `managedFields`. The real one also keeps a good review for ten seconds.
 */
export class FakeApiServer {
  readonly accounts: Account[] = [];
  /** Labels of namespaces. */
  readonly namespaces: Record<string, Record<string, string>> = {};
  readonly asked: Asked[] = [];
  /** Tokens besides those of service accounts that may ask, with what they may do. */
  readonly reviewers = new Map<string, ReadonlySet<"review" | "accounts" | "namespaces">>();
  /** True: a token may ask for its own review. */
  letsSelfReview = true;
  /** True: anybody may read the documents of the issuer (`system:service-account-issuer-discovery`). */
  publishesIssuer = false;
  /** Answers in the place of the server, when it returns something. */
  instead: ((asked: Asked) => Response | Promise<Response> | undefined) | null = null;
  readonly #keys: Keys;

  private constructor(keys: Keys) {
    this.#keys = keys;
  }

  static async start(): Promise<FakeApiServer> {
    const server = new FakeApiServer(await generateKeyPair("RS256", { extractable: true }));
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      if (!request.url.startsWith(`${CLUSTER}/`)) throw new TypeError("Network connection lost");
      return server.#answer(request);
    });
    return server;
  }

  get publicKey(): CryptoKey {
    return this.#keys.publicKey;
  }

  addAccount(namespace: string, name: string, more: Partial<Account> = {}): Account {
    const account = { namespace, name, uid: crypto.randomUUID(), ...more };
    this.accounts.push(account);
    this.namespaces[namespace] ??= {};
    return account;
  }

  removeAccount({ uid }: Account): void {
    this.accounts.splice(
      this.accounts.findIndex((account) => account.uid === uid),
      1,
    );
  }

  /** A projected token of an account, for ten minutes unless the claims say something else. */
  tokenOf({ namespace, name, uid }: Account, claims: Record<string, unknown> = {}): Promise<string> {
    return this.sign({
      iss: OWN_AUDIENCE,
      sub: `system:serviceaccount:${namespace}:${name}`,
      aud: [OWN_AUDIENCE],
      jti: crypto.randomUUID(),
      "kubernetes.io": { namespace, serviceaccount: { name, uid } },
      ...claims,
    });
  }

  /** A token that a secret stores: without an end and an audience. */
  storedTokenOf({ namespace, name, uid }: Account): Promise<string> {
    const prefix = "kubernetes.io/serviceaccount";
    return this.sign({
      iss: STORED_ISSUER,
      sub: `system:serviceaccount:${namespace}:${name}`,
      [`${prefix}/namespace`]: namespace,
      [`${prefix}/secret.name`]: `${name}-token`,
      [`${prefix}/service-account.name`]: name,
      [`${prefix}/service-account.uid`]: uid,
      iat: undefined,
      nbf: undefined,
      exp: undefined,
    });
  }

  sign(claims: Record<string, unknown>, key: CryptoKey = this.#keys.privateKey): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    return new SignJWT({ iat, nbf: iat, exp: iat + 600, ...claims } as JWTPayload)
      .setProtectedHeader({ alg: "RS256", kid: KEY_ID })
      .sign(key);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    const bearer = (request.headers.get("Authorization") ?? "").replace(/^Bearer /, "");
    const text = await request.text();
    const asked = { method: request.method, path, bearer, body: text === "" ? null : JSON.parse(text) };
    this.asked.push(asked);
    return (await this.instead?.(asked)) ?? this.#judge(asked, request.headers);
  }

  async #judge(asked: Asked, headers: Headers): Promise<Response> {
    const { method, path, bearer, body } = asked;
    const rights = bearer === "" ? ANONYMOUS : (this.reviewers.get(bearer) ?? (await this.#ownRights(bearer)));
    if (!rights) return status(401, "Unauthorized", "Unauthorized");
    const document = ISSUER_DOCUMENTS[path];
    if (document !== undefined) {
      if (rights === ANONYMOUS && !this.publishesIssuer) return forbidden(`get path "${path}"`);
      return this.#issuerDocument(document, headers.get("Accept") ?? "*/*");
    }
    if (method === "POST" && path === "/apis/authentication.k8s.io/v1/tokenreviews") {
      if (!rights.has("review")) return forbidden('create resource "tokenreviews"');
      const { apiVersion, kind, spec } = body as { apiVersion: string; kind: string; spec: Spec };
      const isRight = apiVersion === "authentication.k8s.io/v1" && kind === "TokenReview" && (spec.token ?? "") !== "";
      if (!isRight) return status(400, "BadRequest", "token is required for TokenReview in authentication");
      if (headers.get("Content-Type") !== "application/json") return status(415, "UnsupportedMediaType", "the body");
      return Response.json({ kind, apiVersion, metadata: {}, spec, status: await this.#review(spec) }, { status: 201 });
    }
    const [, namespace = "", name] = /^\/api\/v1\/namespaces\/([^/]+)(?:\/serviceaccounts\/([^/]+))?$/.exec(path) ?? [];
    const kind = name === undefined ? "namespaces" : "serviceaccounts";
    if (method !== "GET" || !rights.has(name === undefined ? "namespaces" : "accounts")) {
      return forbidden(`get resource "${kind}"`);
    }
    const labels = this.namespaces[namespace];
    const account = this.accounts.find((one) => one.namespace === namespace && one.name === name);
    if (name === undefined && labels) {
      const metadata = { name: namespace, labels: { "kubernetes.io/metadata.name": namespace, ...labels } };
      return Response.json({ kind: "Namespace", apiVersion: "v1", metadata, status: { phase: "Active" } });
    }
    if (account) return Response.json({ kind: "ServiceAccount", apiVersion: "v1", metadata: { ...account } });
    return status(404, "NotFound", `${kind} "${name ?? namespace}" not found`);
  }

  /** A document of the issuer. Each has one media type, and is 406 for who takes another one alone. */
  async #issuerDocument(type: string, accepted: string): Promise<Response> {
    const types = accepted.split(",").map((one) => one.replace(/;.*$/, "").trim());
    if (![type, "application/*", "*/*"].some((one) => types.includes(one))) {
      return new Response("406: Not Acceptable", { status: 406, headers: { "Content-Type": "text/plain" } });
    }
    const key = { ...(await exportJWK(this.#keys.publicKey)), use: "sig", kid: KEY_ID, alg: "RS256" };
    const discovery = {
      issuer: CLUSTER,
      jwks_uri: `${CLUSTER}${KEYS_PATH}`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    };
    const body = type === JWK_SET ? { keys: [key] } : discovery;
    return new Response(JSON.stringify(body), { headers: { "Content-Type": type } });
  }

  async #ownRights(bearer: string) {
    const reviewed = await this.#review({ token: bearer });
    if (!reviewed.authenticated) return null;
    return new Set<string>(this.letsSelfReview ? ["review"] : []);
  }

  async #review({ token, audiences = [OWN_AUDIENCE] }: Spec): Promise<Review> {
    const refused = (...errors: string[]) => {
      return {
        user: {},
        error: errors.length > 0 ? `[invalid bearer token, ${errors.join()}]` : "invalid bearer token",
      };
    };
    try {
      const { payload } = await jwtVerify(token, this.#keys.publicKey, { clockTolerance: 60 });
      if (payload.iss !== CLUSTER && payload.iss !== STORED_ISSUER) return refused();
      const account = this.accounts.find(({ namespace, name, uid }) => {
        const nested = (payload["kubernetes.io"] as { serviceaccount: { uid: string } } | undefined)?.serviceaccount
          .uid;
        const stored = payload["kubernetes.io/serviceaccount/service-account.uid"];
        return payload.sub === `system:serviceaccount:${namespace}:${name}` && uid === (nested ?? stored);
      });
      if (!account) return refused("service account UID does not match claim");
      // A stored token names no audience: it is for the API server.
      const own = payload.aud === undefined ? [OWN_AUDIENCE] : [payload.aud].flat();
      const good = audiences.filter((audience) => own.includes(audience));
      if (good.length === 0) return refused(`token audiences is invalid for the target audiences ${audiences.join()}`);
      const { namespace, name, uid } = account;
      const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
      const extra = { "authentication.kubernetes.io/credential-id": [`JTI=${payload.jti}`] };
      const user = { username: `system:serviceaccount:${namespace}:${name}`, uid, groups, extra };
      return { authenticated: true, user, audiences: good };
    } catch (error) {
      return error instanceof errors.JWTExpired ? refused("service account token has expired") : refused();
    }
  }
}

interface Review {
  readonly authenticated?: boolean;
  readonly user: object;
  readonly audiences?: readonly unknown[];
  readonly error?: string;
}

interface Spec {
  readonly token: string;
  readonly audiences?: readonly string[];
}

const ANONYMOUS: ReadonlySet<string> = new Set();
const KEY_ID = "a-key";
const KEYS_PATH = "/openid/v1/jwks";
const JWK_SET = "application/jwk-set+json";
/** The documents of the issuer, and their media types. */
const ISSUER_DOCUMENTS: Readonly<Record<string, string>> = {
  "/.well-known/openid-configuration": "application/json",
  [KEYS_PATH]: JWK_SET,
};

function forbidden(what: string): Response {
  return status(403, "Forbidden", `forbidden: User "system:serviceaccount:web:any" cannot ${what}`);
}

function status(code: number, reason: string, message: string): Response {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  return Response.json(body, { status: code });
}
