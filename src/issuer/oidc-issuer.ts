import { currentTime, earliest, type Ms, type Seconds } from "../base/clock.ts";
import type { CallAttempt } from "../base/lost-call-retry.ts";
import { objectNamed } from "../base/object-stub.ts";
import { DENIED, err, ok, type Result, refuse } from "../base/result.ts";
import { mayWrite, type WriteGrants } from "../policy/write-grants.ts";
import { GroveObject } from "../system/grove-object.ts";
import { mustServe } from "../system/installation.ts";
import type { IssuerEnv } from "./env.ts";
import { ISSUER_MIGRATIONS, IssuerStore } from "./issuer-store.ts";
import {
  DEFAULT_KEY,
  type IssuerRole,
  type KeyConfig,
  type KeyWrite,
  planKey,
  planRole,
  type RoleWrite,
  verificationTtlProblem,
} from "./key-and-role-config.ts";
import { newKeyPair, type SealedKey, type SealedKeyPair } from "./key-pair.ts";

export interface TokenSigner {
  readonly issuer: string;
  readonly key: KeyConfig;
  readonly signing: SealedKey;
}

/** The versions that a key needs: the one that signs, and the one after it. */
export interface KeyVersions {
  readonly signing: SealedKeyPair;
  readonly next: SealedKeyPair;
}

/** The published keys and issuer, which each isolate reads from time to time. */
export interface PublishedKeys {
  /** Changes with every change of this data. */
  readonly revision: string;
  /** As configured; "" for none. */
  readonly issuer: string;
  readonly keys: readonly SealedKey[];
  /** The shortest rotation period of all keys; null without a key. */
  readonly shortestRotation: Seconds | null;
}

/** Limits on the number of keys. Every isolate reads all public keys, so their total size must be small. */
const MAX_KEYS = 100;
const MAX_RETIRED_VERSIONS = 50;
const MAX_ROLES = 10_000;
/** Delay before a failed rotation is tried again, for example while the service is sealed. */
const RETRY_MS = 30_000;

/** Published while the row of the issuer's configuration is tampered with: no keys, so no token verifies. */
const TAMPERED: PublishedKeys = { revision: "tampered", issuer: "", keys: [], shortestRotation: null };

/**
 * The OpenID issuer of the installation: named signing keys, which its alarm rotates, and the roles whose tokens they
 * sign. It has a private key in clear text only while it generates one.
 *
 * A version is published as "next" for a whole rotation period before it signs, so that verifiers know it in time, and
 * for the verification TTL after its last signature. An operator can rotate a key earlier (`rotateKey`).
 */
export class OidcIssuer extends GroveObject<IssuerEnv> {
  readonly #store: IssuerStore;

  constructor(ctx: DurableObjectState, env: IssuerEnv) {
    super(ctx, env, ISSUER_MIGRATIONS);
    this.#store = new IssuerStore(this.tables, this.seals);
    this.alarms.add("issuer_rotation", {
      dueAt: () => earliest(...this.#store.keys().map(({ nextRotation }) => nextRotation)),
      run: () => this.#rotateDue(),
      pauseMs: () => RETRY_MS,
    });
    this.alarms.add("issuer_expiry", {
      dueAt: () => this.#store.firstExpiry(),
      run: () => {
        if (this.#store.dropExpired(currentTime())) this.#store.changed();
      },
      pauseMs: () => RETRY_MS,
    });
  }

  /** Returns the published keys and issuer; null when the revision `known` of the caller is current. */
  async published(known: string | null): Promise<PublishedKeys | null> {
    await this.keys.open();
    const issuer = this.#store.issuer();
    if (!issuer) return TAMPERED;
    const { url, revision } = issuer;
    if (revision === known) return null;
    const rotations = this.#store.keys().map(({ config }) => config.rotationPeriod);
    const shortestRotation = rotations.length > 0 ? Math.min(...rotations) : null;
    return { revision, issuer: url, keys: this.#store.publicKeys(), shortestRotation };
  }

  /** The configured issuer; "" for none. */
  async readIssuer(): Promise<string> {
    await this.keys.open();
    return this.#store.issuer()?.url ?? "";
  }

  /** Configures the issuer (an origin, or "" for none). */
  async writeIssuer(url: string, attempt: CallAttempt = {}): Promise<void> {
    await this.keys.open();
    this.carriedOut.once(attempt, () => ok(this.#store.setIssuer(url)));
  }

  /**
   * Creates or changes a key. A new key, or one with another algorithm, needs its signing version and the one after it.
   * Without them nothing is written, and the answer is "needs_versions": the caller generates them and calls again.
   * Generating them here would delay other requests of the object.
   */
  async writeKey(
    name: string,
    write: KeyWrite,
    grants: WriteGrants,
    versions: KeyVersions | null,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<Result<"written" | "needs_versions">> {
    await this.keys.open();
    const written = this.carriedOut.once(attempt, () => this.#writeKey(name, write, grants, versions, now));
    await this.alarms.set();
    return written;
  }

  /** Returns the settings of a key, or null. */
  async readKey(name: string): Promise<KeyConfig | null> {
    await this.keys.open();
    return this.#store.key(name)?.config ?? null;
  }

  /** Returns the sorted names of all keys. */
  async listKeys(): Promise<string[]> {
    await this.keys.open();
    return this.#store.keys().map(({ name }) => name);
  }

  /** Deletes a key that no role uses. */
  async deleteKey(name: string, attempt: CallAttempt = {}): Promise<Result<null>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      if (name === DEFAULT_KEY) return refuse(`deletion of key "${DEFAULT_KEY}" not allowed`);
      const { names } = this.#store.rolesOf(name);
      if (names.length > 0) {
        return refuse(
          `unable to delete the key because it is currently referenced by these roles: ${names.join(", ")}`,
        );
      }
      this.#store.deleteKey(name);
      return ok(null);
    });
  }

  /** Rotates a key. `verificationTtl`: how long its previous version stays published; null: as configured. */
  async rotateKey(
    name: string,
    next: SealedKeyPair,
    verificationTtl: Seconds | null,
    now: Ms,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    const rotated = this.carriedOut.once(attempt, () => {
      const key = this.#store.key(name);
      if (!key) return refuse("no named key found at this name");
      const ttl = verificationTtl ?? key.config.verificationTtl;
      const problem = verificationTtlProblem(ttl, key.config.rotationPeriod);
      if (problem) return refuse(problem);
      if (ttl > 0 && this.#store.countRetired(name) >= MAX_RETIRED_VERSIONS) {
        return refuse(
          `${MAX_RETIRED_VERSIONS} versions are still published: wait for one to end, or give verification_ttl 0`,
        );
      }
      this.#rotate(name, key.config, next, ttl, now);
      return ok(null);
    });
    await this.alarms.set();
    return rotated;
  }

  /** Returns the settings of a role, or null. */
  async readRole(name: string): Promise<IssuerRole | null> {
    await this.keys.open();
    return this.#store.roles.read(name);
  }

  /** Returns the sorted names of all roles. */
  listRoles(): string[] {
    return this.#store.roles.names("", MAX_ROLES);
  }

  /** When the first key is due for its rotation; null without a key. */
  async firstRotation(): Promise<Ms | null> {
    await this.keys.open();
    return earliest(...this.#store.keys().map(({ nextRotation }) => nextRotation));
  }

  /** Creates or changes a role. Its key must exist. The caller has checked its template. */
  async writeRole(
    name: string,
    write: RoleWrite,
    grants: WriteGrants,
    newClientId: string,
    attempt: CallAttempt = {},
  ): Promise<Result<null>> {
    await this.keys.open();
    return this.carriedOut.once(attempt, () => {
      const existing = this.#store.roles.read(name);
      if (!mayWrite(existing, grants)) return err(DENIED);
      const planned = planRole(existing, write, newClientId);
      if (!planned.ok) return planned;
      const key = this.#store.key(planned.value.key);
      if (!key) return refuse(`cannot find key "${planned.value.key}"`);
      if (planned.value.ttl > key.config.verificationTtl) {
        return refuse("a role's token ttl cannot be longer than the verification_ttl of the key it references");
      }
      if (!existing && this.#store.roles.count() >= MAX_ROLES) return refuse(`there are ${MAX_ROLES} roles already`);
      this.#store.roles.write(name, planned.value);
      return ok(null);
    });
  }

  /** Deletes a role. */
  deleteRole(name: string, attempt: CallAttempt = {}): void {
    this.deleteOnce(attempt, () => this.#store.roles.delete(name));
  }

  /** Returns a role and its current signing key; null when the role or its key does not exist. */
  async signerOfRole(name: string): Promise<{ readonly role: IssuerRole; readonly signer: TokenSigner } | null> {
    await this.keys.open();
    const role = this.#store.roles.read(name);
    const signer = role && this.#signer(role.key);
    return role && signer ? { role, signer } : null;
  }

  /** Returns the current signing version of a key; null when there is no such key. */
  async signerOfKey(name: string): Promise<TokenSigner | null> {
    await this.keys.open();
    return this.#signer(name);
  }

  #writeKey(
    name: string,
    write: KeyWrite,
    grants: WriteGrants,
    versions: KeyVersions | null,
    now: Ms,
  ): Result<"written" | "needs_versions"> {
    const existing = this.#store.key(name);
    // The default key counts as present before its first use makes it.
    if (!mayWrite(name === DEFAULT_KEY ? name : existing, grants)) return err(DENIED);
    if (!existing && this.#store.keys().length >= MAX_KEYS) return refuse(`there are ${MAX_KEYS} keys already`);
    const longestRoleTtl = existing ? this.#store.rolesOf(name).longestTtl : 0;
    const planned = planKey(existing?.config ?? null, write, longestRoleTtl);
    if (!planned.ok) return planned;
    const config = planned.value;
    const needsVersions = config.algorithm !== existing?.config.algorithm;
    if (needsVersions) {
      if (!versions) return ok("needs_versions");
      this.#store.retire(name, now + (existing?.config ?? config).verificationTtl * 1000);
      this.#store.dropNext(name);
      this.#store.addVersion(name, "signing", versions.signing);
      this.#store.addVersion(name, "next", versions.next);
    }
    const rotation = now + config.rotationPeriod * 1000;
    const next = existing && !needsVersions ? Math.min(existing.nextRotation, rotation) : rotation;
    this.#store.writeKey(name, config, next);
    return ok("written");
  }

  #signer(name: string): TokenSigner | null {
    const key = this.#store.key(name);
    const signing = key && this.#store.signing(name);
    const issuer = key && this.#store.issuer();
    return signing && issuer ? { issuer: issuer.url, key: key.config, signing } : null;
  }

  /** Rotates the keys that are due. If that fails, for example while sealed, the old versions sign until a retry. */
  async #rotateDue(): Promise<void> {
    const { keys } = await mustServe(this.env);
    for (const { name, config, nextRotation } of this.#store.keys()) {
      if (nextRotation > currentTime()) continue;
      const next = await newKeyPair(keys, config.algorithm);
      // Other requests may have run during the await: they may have deleted the key, or given it new versions. Those
      // have another algorithm if the key has.
      const key = this.#store.key(name);
      const now = currentTime();
      if (!key || key.nextRotation > now) continue;
      this.#rotate(name, key.config, next, key.config.verificationTtl, now);
    }
  }

  #rotate(name: string, config: KeyConfig, next: SealedKeyPair, verificationTtl: Seconds, now: Ms): void {
    this.#store.retire(name, now + verificationTtl * 1000);
    this.#store.promote(name);
    this.#store.addVersion(name, "next", next);
    this.#store.dropExpired(now);
    this.#store.writeKey(name, config, now + config.rotationPeriod * 1000);
  }
}

/** How the object is called in a cluster. */
const RULES = {
  repeated: [
    "published",
    "readIssuer",
    "readKey",
    "listKeys",
    "readRole",
    "listRoles",
    "firstRotation",
    "signerOfRole",
    "signerOfKey",
  ],
} as const;

export function oidcIssuerOf(env: IssuerEnv): DurableObjectStub<OidcIssuer> {
  return objectNamed(env, env.OIDC_ISSUER, "issuer", RULES);
}
