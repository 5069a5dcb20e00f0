import { createHash } from "node:crypto";
import keycloak from "../data/keycloak-discovery.json";
import { type Issuer, newIssuer } from "./issuer.ts";

/** The issuer of the fake provider. */
export const PROVIDER = "https://login.example.com";
export const CLIENT = { id: "grove", secret: "s3cret: with 100% odd & signs" };

/** Where a provider has its endpoints, below its issuer, and what it says of itself. */
interface Kind {
  readonly paths: Readonly<Record<"keys" | "authorize" | "token" | "userinfo" | "device", string>>;
  readonly document: Readonly<Record<string, unknown>>;
  /** Keys of the key set that sign nothing. */
  readonly otherKeys: readonly object[];
  /** What the answers of the device endpoint and of the token endpoint have besides the usual. */
  readonly ofDevice: Readonly<Record<string, unknown>>;
  readonly ofTokens: Readonly<Record<string, unknown>>;
}

const USUAL_PATHS = {
  keys: "/keys",
  authorize: "/authorize",
  token: "/token",
  userinfo: "/userinfo",
  device: "/device",
} as const;

const usual = (host: string): Kind => ({
  paths: USUAL_PATHS,
  document: {
    issuer: host,
    jwks_uri: `${host}${USUAL_PATHS.keys}`,
    authorization_endpoint: `${host}${USUAL_PATHS.authorize}`,
    token_endpoint: `${host}${USUAL_PATHS.token}`,
    userinfo_endpoint: `${host}${USUAL_PATHS.userinfo}`,
    device_authorization_endpoint: `${host}${USUAL_PATHS.device}`,
  },
  otherKeys: [],
  ofDevice: {},
  ofTokens: {},
});

/** Keycloak 26.7.3, by the discovery document of a realm and by answers that were recorded. */
const KEYCLOAK: Kind = {
  paths: {
    keys: "/protocol/openid-connect/certs",
    authorize: "/protocol/openid-connect/auth",
    token: "/protocol/openid-connect/token",
    userinfo: "/protocol/openid-connect/userinfo",
    device: "/protocol/openid-connect/auth/device",
  },
  document: keycloak,
  otherKeys: [{ kid: "of-encryption", kty: "RSA", alg: "RSA-OAEP", use: "enc", n: "AQAB".repeat(86), e: "AQAB" }],
  ofDevice: {
    verification_uri: `${keycloak.issuer}/device`,
    verification_uri_complete: `${keycloak.issuer}/device?user_code=WDJB-MJHT`,
    expires_in: 600,
  },
  ofTokens: { refresh_expires_in: 1800, refresh_token: "refresh", "not-before-policy": 0, session_state: "session" },
};

/** A person at the provider. */
export interface Person {
  readonly claims: Readonly<Record<string, unknown>>;
}

interface Grant {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

interface DeviceGrant {
  readonly challenge: string | undefined;
  claims: Readonly<Record<string, unknown>> | null;
  denied: boolean;
}

/** What the token endpoint was asked. */
export interface AskedToken {
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/**
 * An OpenID provider, as far as Grove needs one. It checks what it is asked as a real one does: the client and its secret,
 * the code, which is good once, its address and its verifier (PKCE).
 */
export class FakeProvider {
  readonly issuer: Issuer;
  readonly host: string;
  /** What the discovery document says besides the usual. */
  metadata: Record<string, unknown> = {};
  /** Changes the claims of the next ID tokens. */
  change: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims;
  /** Claims of the userinfo endpoint, by subject; its answer is 401 without any. */
  readonly userinfo = new Map<string, Readonly<Record<string, unknown>>>();
  readonly asked: AskedToken[] = [];
  readonly devices = new Map<string, DeviceGrant>();
  /** True: the client requires PKCE, which Keycloak wants of a login on any device too. */
  wantsChallenge = false;
  /** Answers in the place of the provider, when it returns something. */
  instead: ((url: URL, request: Request) => Response | Promise<Response | undefined> | undefined) | null = null;
  readonly #codes = new Map<string, Grant>();
  readonly #accessTokens = new Map<string, string>();
  readonly #kind: Kind;
  #count = 0;

  private constructor(host: string, issuer: Issuer, kind: Kind) {
    this.host = host;
    this.issuer = issuer;
    this.#kind = kind;
  }

  static async start(host = PROVIDER): Promise<FakeProvider> {
    return new FakeProvider(host, await newIssuer("RS256", "key-1"), usual(host));
  }

  /** A realm of Keycloak. */
  static async startKeycloak(): Promise<FakeProvider> {
    return new FakeProvider(keycloak.issuer, await newIssuer("RS256", "key-1"), KEYCLOAK);
  }

  /**
   * Signs a person in at the address that a login gave, and consents. Returns the answer that the provider sends to the
   * address of the login.
   */
  signIn(authUrl: string, claims: Readonly<Record<string, unknown>> = { sub: "ann" }) {
    const url = new URL(authUrl);
    if (!authUrl.startsWith(`${this.host}${this.#kind.paths.authorize}?`))
      throw new Error("the address is not that of the provider");
    const asked = Object.fromEntries(url.searchParams);
    const { state = "", redirect_uri = "", nonce, code_challenge = "", code_challenge_method, client_id } = asked;
    const isRight = client_id === CLIENT.id && asked.response_type === "code" && code_challenge_method === "S256";
    if (!isRight || !(asked.scope ?? "").split(" ").includes("openid")) throw new Error("the request is wrong");
    const code = `code-${++this.#count}`;
    this.#codes.set(code, { redirectUri: redirect_uri, challenge: code_challenge, claims: { nonce, ...claims } });
    return { state, code, redirectUri: redirect_uri, asked };
  }

  /** The answers of the provider to requests to its host; undefined for another host. */
  async answer(request: Request): Promise<Response | undefined> {
    const url = new URL(request.url);
    if (!url.href.startsWith(`${this.host}/`)) return undefined;
    const other = await this.instead?.(url, request.clone());
    if (other) return other;
    const { paths, document, otherKeys } = this.#kind;
    switch (`${url.origin}${url.pathname}`.slice(this.host.length)) {
      case "/.well-known/openid-configuration":
        return Response.json({ ...document, ...this.metadata });
      case paths.keys:
        return Response.json({ keys: [...otherKeys, this.issuer.jwk] });
      case paths.token:
        return this.#token(request);
      case paths.device:
        return this.#device(request);
      case paths.userinfo:
        return this.#userinfo(request);
      default:
        return new Response("not here", { status: 404 });
    }
  }

  async #token(request: Request): Promise<Response> {
    const form = await this.#formOf(request);
    if (!form) return refusal("invalid_client", 401);
    const { grant_type: type } = form;
    if (type === "urn:ietf:params:oauth:grant-type:device_code") return this.#deviceToken(form);
    const grant = this.#codes.get(form.code ?? "");
    this.#codes.delete(form.code ?? "");
    const isRight =
      type === "authorization_code" &&
      grant?.redirectUri === form.redirect_uri &&
      grant?.challenge === challengeOf(form.code_verifier);
    return grant && isRight ? this.#tokens(grant.claims) : refusal("invalid_grant");
  }

  async #device(request: Request): Promise<Response> {
    const form = await this.#formOf(request);
    if (!form) return refusal("invalid_client", 401);
    const { code_challenge: challenge, code_challenge_method: method } = form;
    const hasChallenge = challenge !== undefined && method === "S256";
    if (this.wantsChallenge && !hasChallenge) return refusal("invalid_request");
    const deviceCode = `device-${++this.#count}`;
    this.devices.set(deviceCode, { challenge, claims: null, denied: false });
    return Response.json({
      device_code: deviceCode,
      user_code: "WDJB-MJHT",
      verification_uri: `${this.host}/activate`,
      expires_in: 900,
      interval: 5,
      ...this.#kind.ofDevice,
    });
  }

  #deviceToken(form: AskedToken["form"]): Promise<Response> | Response {
    const { device_code: deviceCode = "", code_verifier: verifier } = form;
    const device = this.devices.get(deviceCode);
    if (!device) return refusal("expired_token");
    if (device.challenge !== undefined && device.challenge !== challengeOf(verifier)) return refusal("invalid_grant");
    if (device.denied) return refusal("access_denied");
    if (!device.claims) return refusal("authorization_pending");
    this.devices.delete(deviceCode);
    return this.#tokens(device.claims);
  }

  async #tokens(claims: Readonly<Record<string, unknown>>): Promise<Response> {
    const accessToken = `access-${++this.#count}`;
    this.#accessTokens.set(accessToken, String(claims.sub));
    const half = createHash("sha256").update(accessToken).digest().subarray(0, 16);
    const signed = this.change({
      iss: this.host,
      aud: CLIENT.id,
      at_hash: half.toString("base64url"),
      ...claims,
    });
    const idToken = await this.issuer.sign(signed);
    const answer = { id_token: idToken, access_token: accessToken, token_type: "Bearer", expires_in: 3600 };
    return Response.json({ ...answer, ...this.#kind.ofTokens });
  }

  async #formOf(request: Request): Promise<Readonly<Record<string, string>> | null> {
    const authorization = request.headers.get("Authorization");
    const form = Object.fromEntries(new URLSearchParams(new TextDecoder().decode(await request.arrayBuffer())));
    this.asked.push({ form, authorization });
    const [id = "", secret = ""] = Buffer.from((authorization ?? "").replace(/^Basic /, ""), "base64")
      .toString()
      .split(":")
      .map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    const inHeader = id === CLIENT.id && secret === CLIENT.secret;
    const inBody = form.client_id === CLIENT.id && form.client_secret === CLIENT.secret;
    return inHeader !== inBody ? form : null;
  }

  #userinfo(request: Request): Response {
    const subject = this.#accessTokens.get((request.headers.get("Authorization") ?? "").replace(/^Bearer /, ""));
    const claims = subject === undefined ? undefined : this.userinfo.get(subject);
    return claims ? Response.json({ sub: subject, ...claims }) : new Response(null, { status: 401 });
  }
}

function challengeOf(verifier = ""): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

function refusal(error: string, status = 400): Response {
  const text = "<script>alert('of others')</script>";
  return Response.json({ error, error_description: text }, { status });
}
