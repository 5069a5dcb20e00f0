import { DENIED, type Failure, invalid } from "../../../base/errors.ts";
import { err, ok, type Result } from "../../../base/result.ts";
import { type ClientChange, type ClientConfig, changeClient } from "../clients/config.ts";
import { type StsRole, type StsRoleFields, storedStsRole, stsRoleOf } from "../clients/sts-role.ts";
import type { CertificateType } from "../documents/registered.ts";
import { DEFAULT_IDENTITY, type IdentityChange, type IdentityConfig } from "../rules/identity.ts";
import type { ConfigurationState } from "./state.ts";
import type { CloudStore } from "./store.ts";
import { full, mayWrite, type WriteGrants } from "./write-grants.ts";

/** Certificates of one mount: a login may try all of them. */
const MAX_CERTIFICATES = 256;
const MAX_STS_ROLES = 10_000;

/** What a mount is configured with but for its roles. Each change is one transaction with the new state. */
export class Configuration {
  readonly #store: CloudStore;
  readonly #state: ConfigurationState;

  constructor(store: CloudStore, state: ConfigurationState) {
    this.#store = store;
    this.#state = state;
  }

  /** Changes the client configuration. Returns it as it is now, or "permission_denied". */
  writeClient(change: ClientChange, grants: WriteGrants): Result<ClientConfig, Failure> {
    const before = this.#store.client.read();
    if (!mayWrite(before, grants)) return err(DENIED);
    const after = changeClient(before, change);
    if (!after.ok) return after;
    this.#store.client.write(after.value);
    this.#state.changed();
    return after;
  }

  /** Replaces the access key `from` by another. False when it is not the configured one any more. */
  replaceAccessKey(from: string, change: Required<Pick<ClientConfig, "accessKey" | "sealedSecretKey">>): boolean {
    const before = this.#store.client.read();
    if (before?.accessKey !== from) return false;
    this.#store.client.write({ ...before, ...change });
    this.#state.changed();
    return true;
  }

  deleteClient(): void {
    this.#store.client.delete();
    this.#state.changed();
  }

  /** What names the aliases and metadata of logins; the defaults when nothing was written. */
  identity(): IdentityConfig {
    return this.#store.identity.read() ?? DEFAULT_IDENTITY;
  }

  writeIdentity(change: IdentityChange): void {
    this.#store.identity.write({ ...this.identity(), ...change });
    this.#state.changed();
  }

  /** Registers a certificate. `type` null keeps that of the one it replaces. */
  writeCertificate(
    name: string,
    pem: string,
    type: CertificateType | null,
    grants: WriteGrants,
  ): Result<null, Failure> {
    const { certificates } = this.#store;
    const before = certificates.read(name);
    if (!mayWrite(before, grants)) return err(DENIED);
    if (!before && certificates.count() >= MAX_CERTIFICATES) {
      return full(`there are ${MAX_CERTIFICATES} certificates already`);
    }
    certificates.write(name, { type: type ?? before?.type ?? "pkcs7", pem });
    this.#state.changed();
    return ok(null);
  }

  deleteCertificate(name: string): void {
    this.#store.certificates.delete(name);
    this.#state.changed();
  }

  /** The role to assume for calls to this account, or null. */
  stsRole(accountId: string): StsRole | null {
    return stsRoleOf(this.#store.stsRoles.read(accountId));
  }

  /** Associates a role with an account. Fields that are undefined keep what is there. */
  writeStsRole(accountId: string, fields: StsRoleFields, grants: WriteGrants): Result<null, Failure> {
    const before = this.stsRole(accountId);
    if (!mayWrite(before, grants)) return err(DENIED);
    const arn = fields.arn ?? before?.arn;
    if (arn === undefined) return err(invalid("missing sts role"));
    if (before === null && this.#store.stsRoles.count() >= MAX_STS_ROLES) {
      return full(`there are ${MAX_STS_ROLES} sts roles already`);
    }
    const externalId = fields.externalId ?? before?.externalId ?? "";
    this.#store.stsRoles.write(accountId, storedStsRole({ arn, externalId }));
    this.#state.changed();
    return ok(null);
  }

  deleteStsRole(accountId: string): void {
    this.#store.stsRoles.delete(accountId);
    this.#state.changed();
  }
}
