import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { BUCKET, BucketEmulator } from "../../test/support/bucket.ts";
import { freePort } from "../../test/support/free-port.ts";
import { type Secrets, ServeProcess } from "./serve.ts";

/** The nodes of a cluster, and its emulated bucket, which runs in this process. */
export interface Nodes {
  readonly bucket: BucketEmulator;
  readonly nodes: readonly [ServeProcess, ...ServeProcess[]];
  stop(): Promise<void>;
}

const COUNT = 3;

/**
 * Starts three nodes with a new bucket.
 *
 * @param bucketMs delay of each answer of the bucket (ms).
 */
export async function startNodes(
  directory: string,
  secrets: Secrets,
  settings: Readonly<Record<string, string>>,
  bucketMs: number,
): Promise<Nodes> {
  const bucket = await BucketEmulator.start();
  bucket.fault = () => ({ delayMs: bucketMs });
  const nodes: ServeProcess[] = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await bucket.close();
  };
  const key = randomBytes(32).toString("hex");
  try {
    for (let number = 0; number < COUNT; number++) {
      const flags = ["--cluster", `s3://${BUCKET}/bench`, "--cluster-listen", `127.0.0.1:${await freePort()}`];
      const own = { ...bucket.environment, GROVE_CLUSTER_KEY: key, ...settings };
      nodes.push(await ServeProcess.start(join(directory, `node-${number}`), secrets, { flags, settings: own }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const [first, ...others] = nodes;
  if (!first) throw new Error("there is no node");
  return { bucket, nodes: [first, ...others], stop };
}
