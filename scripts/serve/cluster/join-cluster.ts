import { createHash, createHmac } from "node:crypto";
import { err, ok, type Result } from "../../../src/base/result.ts";
import type { DataDirectory } from "../../local/data-directory.ts";
import { sourceVersion } from "../../local/source-version.ts";
import type { WorkerdCluster } from "../workerd-config.ts";
import { ClusterBucket } from "./bucket.ts";
import { probeBucket } from "./bucket-probe.ts";
import { joinInstallation } from "./installation-record.ts";
import type { ClusterSettings } from "./node-settings.ts";
import { pauseAfter } from "./worker-supervisor.ts";

/** The file that identifies the installation of a node's local copies. */
export const NODE_FILE = "cluster-installation";
/** The file that identifies the installation of a server that is one process. */
const ALONE_FILE = "installation-id";

/** A node that has joined its cluster. */
export interface JoinedNode {
  readonly installationId: string;
  readonly bucket: ClusterBucket;
  readonly workerd: WorkerdCluster;
}

/** The inputs of a join. */
export interface Joining {
  readonly settings: ClusterSettings;
  readonly environment: NodeJS.ProcessEnv;
  readonly data: DataDirectory;
  /** Resolves when the node has to stop. */
  readonly asked: Promise<void>;
  /** Resolves after a pause (ms). */
  readonly pause: (ms: number) => Promise<void>;
  readonly say: (line: string) => void;
}

/**
 * Tests the bucket and gets the identity of the installation from it. While the bucket is out of reach it tries again, until the node is
 * asked to stop. The error is for the operator.
 */
export async function joinCluster({
  settings,
  environment,
  data,
  asked,
  pause,
  say,
}: Joining): Promise<Result<JoinedNode, string>> {
  const alone = problemOfOneProcess(data);
  if (alone !== undefined) return err(alone);
  const { GROVE_SEAL_KEY: sealKey, GROVE_SEAL_KEY_PREVIOUS: previousSealKey } = environment;
  if (sealKey === undefined) return err("GROVE_SEAL_KEY is not set: every node needs that of the cluster");
  const bucket = new ClusterBucket(settings, environment);
  const secrets = {
    sealKey,
    previousSealKey,
    clusterKey: settings.key,
    previousClusterKey: settings.previousKey,
    release: sourceVersion(""),
  };
  let isAsked = false;
  const stop = asked.then(() => {
    isAsked = true;
  });
  for (let tries = 1; ; tries++) {
    const probed = await probeBucket(bucket);
    const joined = probed.ok ? await joinInstallation(bucket, secrets) : probed;
    if (joined.ok) {
      const problem = bindData(data, joined.value);
      if (problem !== undefined) return err(problem);
      return ok({ installationId: joined.value, bucket, workerd: workerdCluster(settings, joined.value) });
    }
    const { message, passes } = joined.error;
    if (!passes) return err(message);
    const pauseMs = pauseAfter(tries);
    say(`${message}; tried again in ${pauseMs / 1000} s`);
    await Promise.race([pause(pauseMs), stop]);
    if (isAsked) return err("asked to stop");
  }
}

/** The error for data of a server that is one process, which workerd can't bring into a cluster; undefined for other data. */
function problemOfOneProcess(data: DataDirectory): string | undefined {
  if (!data.has(ALONE_FILE)) return undefined;
  return `${data.path} has the data of a server that is one process. A backup and a restore bring them into a cluster (docs/cluster.md); choose another --data DIR for the node`;
}

/** Binds the data directory to its installation. The error is for the operator. */
function bindData(data: DataDirectory, installationId: string): string | undefined {
  const name = createHash("sha256").update(installationId).digest("hex");
  if (data.readOrMake(NODE_FILE, () => name) === name) return undefined;
  return `${data.path} is of a node of another installation; choose another --data DIR, or delete it: the bucket has the data`;
}

function workerdCluster(settings: ClusterSettings, installationId: string): WorkerdCluster {
  const { bucket, prefix, region, allowsHttp, listen, advertise, key, timeDivisor } = settings;
  return {
    bucket: `s3://${bucket}/${prefix}/workerd`,
    region,
    allowsHttp,
    listen,
    advertise,
    // The installation id is part of the key: nodes of another installation with the same cluster key are refused.
    key: createHmac("sha256", key).update(`grove cluster peers ${installationId}`).digest("hex"),
    timeDivisor,
  };
}
