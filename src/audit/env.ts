import type { IssuerEnv } from "../issuer/env.ts";
import type { AuditDirectory } from "./directory/audit-directory.ts";
import type { AuditShard } from "./shard/audit-shard.ts";

export interface AuditEnv extends IssuerEnv {
  readonly AUDIT_SHARD: DurableObjectNamespace<AuditShard>;
  readonly AUDIT_DIRECTORY: DurableObjectNamespace<AuditDirectory>;
  /** The bucket that full objects are copied to before they are deleted; absent unless wrangler.toml binds one. */
  readonly AUDIT_ARCHIVE?: R2Bucket;
  /** The same self-hosted: the service that writes into the bucket of a cluster, or into files; absent without either. */
  readonly ARCHIVE_SERVICE?: Fetcher;
  /** "off": nothing is stored, and the audit log is the stream alone. */
  readonly AUDIT_STORE?: string;
  /** Days for which records are kept, 30 by default. */
  readonly AUDIT_DAYS?: string;
  /** Megabytes of all objects together above which the oldest records are deleted, 5,000 by default. */
  readonly AUDIT_MAX_MB?: string;
}
