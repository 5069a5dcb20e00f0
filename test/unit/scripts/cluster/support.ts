import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { ClusterBucket } from "../../../../scripts/serve/cluster/bucket.ts";
import type { NodeSecrets } from "../../../../scripts/serve/cluster/installation-record.ts";
import { type ClusterSettings, readClusterSettings } from "../../../../scripts/serve/cluster/node-settings.ts";
import { BUCKET, BucketEmulator } from "../../../support/bucket.ts";

export const PLACE = {
  bucket: BUCKET,
  prefix: "test/one",
  listen: { host: "127.0.0.1", port: 7000 },
  advertise: undefined,
};

export const CLUSTER_KEY = "a-secret-of-all-nodes-of-the-tests";

/** An emulator for one test, with a node's settings and its client. */
export async function startBucket() {
  const emulator = await BucketEmulator.start();
  onTestFinished(() => emulator.close());
  const environment = { ...emulator.environment, GROVE_CLUSTER_KEY: CLUSTER_KEY };
  const settings = readClusterSettings(PLACE, environment);
  if (!settings.ok) throw new Error(settings.error);
  return { emulator, environment, settings: settings.value, bucket: clientOf(settings.value, environment) };
}

/** A client as a node has it. */
export function clientOf(settings: ClusterSettings, environment: NodeJS.ProcessEnv): ClusterBucket {
  return new ClusterBucket(settings, environment);
}

/** A random seal key. */
export function sealKey(version = 1): string {
  return `${version}:${randomBytes(32).toString("base64")}`;
}

/** What a node brings; the seal key is random unless it is given. */
export function secretsOf(secrets: Partial<NodeSecrets> = {}): NodeSecrets {
  return {
    sealKey: sealKey(),
    previousSealKey: undefined,
    clusterKey: CLUSTER_KEY,
    previousClusterKey: undefined,
    release: "1.4.0",
    ...secrets,
  };
}
