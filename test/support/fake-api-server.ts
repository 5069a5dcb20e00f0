import { generateKeyPair, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { vi } from "vitest";

/** The host of the fake API server. */
export const CLUSTER = "https://cluster.example.com";
/** The audience of the API server itself. */
export const OWN_AUDIENCE = "https://kubernetes.default.svc";

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
 * The API server of a cluster, as far as TokenReview, service accounts and namespaces go. It checks what it is asked as the real
 * one does: who asks and with what rights, the form of a request, and of a token its signature, its time, its audience and that
 * its service account is there.
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
      "kubernetes.io": { namespace, serviceaccount: { name, uid } },
      ...claims,
    });
  }

  /** A token that a secret stores: without an end and an audience. */
  storedTokenOf({ namespace, name, uid }: Account): Promise<string> {
    const prefix = "kubernetes.io/serviceaccount";
    return this.sign({
      iss: "kubernetes/serviceaccount",
      sub: `system:serviceaccount:${namespace}:${name}`,
      [`${prefix}/namespace`]: namespace,
      [`${prefix}/secret.name`]: `${name}-token`,
      [`${prefix}/service-account.name`]: name,
      [`${prefix}/service-account.uid`]: uid,
      iat: undefined,
      exp: undefined,
    });
  }

  sign(claims: Record<string, unknown>, key: CryptoKey = this.#keys.privateKey): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    return new SignJWT({ iat, exp: iat + 600, ...claims } as JWTPayload)
      .setProtectedHeader({ alg: "RS256", kid: "a-key" })
      .sign(key);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname: path } = new URL(request.url);
    const bearer = (request.headers.get("Authorization") ?? "").replace(/^Bearer /, "");
    const text = await request.text();
    const asked = { method: request.method, path, bearer, body: text === "" ? null : JSON.parse(text) };
    this.asked.push(asked);
    return (await this.instead?.(asked)) ?? this.#judge(asked, request.headers.get("Content-Type"));
  }

  async #judge({ method, path, bearer, body }: Asked, contentType: string | null): Promise<Response> {
    const rights = this.reviewers.get(bearer) ?? (await this.#ownRights(bearer));
    if (!rights) return status(401, "Unauthorized");
    if (method === "POST" && path === "/apis/authentication.k8s.io/v1/tokenreviews") {
      if (!rights.has("review")) return status(403, "Forbidden");
      const { apiVersion, kind, spec } = body as { apiVersion: string; kind: string; spec: Spec };
      const isRight =
        apiVersion === "authentication.k8s.io/v1" && kind === "TokenReview" && typeof spec.token === "string";
      if (!isRight || contentType !== "application/json") return status(400, "BadRequest");
      return Response.json({ apiVersion, kind, metadata: {}, spec, status: await this.#review(spec) }, { status: 201 });
    }
    const [, namespace = "", name] = /^\/api\/v1\/namespaces\/([^/]+)(?:\/serviceaccounts\/([^/]+))?$/.exec(path) ?? [];
    if (method !== "GET" || !rights.has(name === undefined ? "namespaces" : "accounts"))
      return status(403, "Forbidden");
    const labels = this.namespaces[namespace];
    if (name === undefined) {
      return labels
        ? Response.json({ kind: "Namespace", metadata: { name: namespace, labels } })
        : status(404, "NotFound");
    }
    const account = this.accounts.find((one) => one.namespace === namespace && one.name === name);
    return account ? Response.json({ kind: "ServiceAccount", metadata: { ...account } }) : status(404, "NotFound");
  }

  async #ownRights(bearer: string) {
    const reviewed = await this.#review({ token: bearer });
    if (!reviewed.authenticated) return null;
    return new Set<string>(this.letsSelfReview ? ["review"] : []);
  }

  async #review({ token, audiences = [OWN_AUDIENCE] }: Spec): Promise<Review> {
    try {
      const { payload } = await jwtVerify(token, this.#keys.publicKey);
      const account = this.accounts.find(({ namespace, name, uid }) => {
        const nested = (payload["kubernetes.io"] as { serviceaccount: { uid: string } } | undefined)?.serviceaccount
          .uid;
        const stored = payload["kubernetes.io/serviceaccount/service-account.uid"];
        return payload.sub === `system:serviceaccount:${namespace}:${name}` && uid === (nested ?? stored);
      });
      if (!account) throw new Error("no such account");
      // A stored token names no audience: it is for the API server.
      const own = payload.aud === undefined ? [OWN_AUDIENCE] : [payload.aud].flat();
      const good = audiences.filter((audience) => own.includes(audience));
      if (good.length === 0) throw new Error("another audience");
      const username = `system:serviceaccount:${account.namespace}:${account.name}`;
      return { authenticated: true, user: { username, uid: account.uid, groups: [] }, audiences: good };
    } catch (error) {
      return { user: {}, error: `[invalid bearer token ${token}, ${String(error)}]` };
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

function status(code: number, reason: string): Response {
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", reason, code }, { status: code });
}
