import type { AuditEnv } from "./audit/env.ts";
import type { Kinds } from "./auth/kinds.ts";
import type { BackupRuns } from "./backup/bucket/backup-runs.ts";
import type { AppRoleEnv } from "./methods/approle/env.ts";
import type { AwsEnv } from "./methods/aws/env.ts";
import type { JwtEnv } from "./methods/jwt/env.ts";
import type { KubernetesEnv } from "./methods/kubernetes/env.ts";
import type { TeamEnv } from "./team/env.ts";
import type { ShardTidy } from "./tidy/shard-tidy.ts";
import type { Tidy } from "./tidy/tidy.ts";
import type { TreeDeployment } from "./tree/deployment.ts";
import type { TreeEnv } from "./tree/env.ts";

/**
 * The bindings of the Worker: objects (wrangler.toml), settings (docs/operations.md lists all), deployment and
 * registered kinds. The env.ts of a folder declares what that folder uses; this file adds what only `tidy` and the
 * layers above use.
 */
export interface Env extends TreeEnv, AppRoleEnv, AwsEnv, JwtEnv, KubernetesEnv, AuditEnv, TeamEnv {
  readonly deployment: TreeDeployment;
  readonly kinds: Kinds;
  readonly TIDY: DurableObjectNamespace<Tidy>;
  readonly SHARD_TIDY: DurableObjectNamespace<ShardTidy>;
  readonly BACKUP_RUNS: DurableObjectNamespace<BackupRuns>;

  /** The bucket of the automatic backups; absent unless wrangler.toml binds one. */
  readonly BACKUPS?: R2Bucket;
  /** Hours between the starts of two backups into the bucket. */
  readonly BACKUP_INTERVAL_HOURS?: string;
  /** How many backups stay in the bucket. */
  readonly BACKUP_KEEP?: string;

  /** A secret: the token that a request to `sys/init` must have. Unset: anybody can initialize. */
  readonly GROVE_INIT_TOKEN?: string;
  /** Cloudflare's rate limit for logins and `sys/init`, besides the Worker's own. Only a deployment can have one. */
  readonly LOGIN_RATE_LIMIT?: RateLimit;
  /** Development only: initialises the service with this root token. */
  readonly GROVE_DEV_ROOT_TOKEN?: string;
  /** The commit that the Worker was built from, for `sys/health`; set by `npm run dev`, `serve` and `deploy`. */
  readonly GROVE_COMMIT?: string;
  /** "true" chooses the deployment ONE_PROCESS of `src/app/deployments.ts`. Set by `npm run serve` alone. */
  readonly ONE_PROCESS?: string;
  /** "true": tokens were stored when the server started, so that it may not be initialized. Set by `npm run serve` and `dev`. */
  readonly STORED_TOKENS?: string;
  /** "true" chooses the deployment ONE_THREAD. Set by `npm run dev` and in .dev.vars. */
  readonly ONE_THREAD?: string;
  /** "true" chooses the deployment CLUSTER. */
  readonly CLUSTER?: string;
  readonly MAX_BODY_BYTES?: string;
  /** The header with the client's address. The proxy in front must set it, or clients could choose their address. */
  readonly CLIENT_ADDRESS_HEADER?: string;

  /** "error": no log lines about ordinary work, such as reports of tidy; "info" unless set. */
  readonly LOG_LEVEL?: string;
  /** "true" answers `sys/metrics` without a token. */
  readonly METRICS_UNAUTHENTICATED?: string;
  /** The Analytics Engine dataset that gets a point for each request; absent unless wrangler.toml binds it. */
  readonly METRICS?: AnalyticsEngineDataset;
}
