/** Algorithms of signing keys, by their names in JWS. No HMAC: a verifier must not be able to sign. */
export const SIGNING_ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** The default key. It is created when it is first used, and can't be deleted. */
export const DEFAULT_KEY = "default";

/** The settings of a named signing key. Durations in seconds. */
export interface KeyConfig {
  readonly algorithm: SigningAlgorithm;
  readonly rotationPeriod: number;
  /** How long the public half is published after the key's last signature. */
  readonly verificationTtl: number;
  /** Client ids of roles that may sign with it; `*` for all. */
  readonly allowedClientIds: readonly string[];
}

/** Fields of a write; undefined keeps the stored value, or takes the default of a new key. */
export type KeyWrite = { readonly [Field in keyof KeyConfig]?: KeyConfig[Field] | undefined };

/** The settings of a role, for its tokens. `ttl` in seconds. */
export interface IssuerRole {
  readonly key: string;
  /** JSON with expressions for values of the entity; "" for none. */
  readonly template: string;
  readonly ttl: number;
  /** The audience of its tokens. */
  readonly clientId: string;
}

/** Fields of a write; undefined keeps the stored value, or takes the default of a new role. */
export type RoleWrite = { readonly [Field in keyof IssuerRole]?: IssuerRole[Field] | undefined };

/** Half of a key pair, sealed for its key id: objects do not store keys in clear text. */
export interface SealedKey {
  readonly kid: string;
  readonly sealed: Uint8Array;
}

/** A new key pair, both halves sealed. */
export interface SealedKeyPair {
  readonly kid: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}

/** The configured issuer, the settings of a key, and its sealed private half that signs now. */
export interface Signer {
  readonly issuer: string;
  readonly key: KeyConfig;
  readonly signing: SealedKey;
}

/** The published keys and issuer, which each isolate reads from time to time. */
export interface PublishedKeys {
  /** Changes with every change of this data. */
  readonly revision: string;
  /** As configured; "" for none. */
  readonly issuer: string;
  readonly keys: readonly SealedKey[];
  /** The shortest rotation period of all keys (seconds); null without a key. */
  readonly shortestRotation: number | null;
}
