import { setTimeout as pause } from "node:timers/promises";
import type { BucketEmulator } from "../../../test/support/bucket.ts";
import { LEASE_MS, type Node } from "./nodes.ts";

/** The objects that a fault acts on. */
export interface Scene {
  readonly victim: Node;
  readonly bucket: BucketEmulator;
}

/** Causes a fault, and returns after it has been repaired. */
export type Fault = (scene: Scene) => Promise<void>;

/** Longer than a lease. */
const PAST_LEASE_MS = LEASE_MS * 1.5;
const SHORT_MS = LEASE_MS / 4;
/** Longer than a call waits for an object that is silent: ten seconds (`src/base/object-stub.ts`). */
const PAST_CALLS_MS = 15_000;
const SLOW_MS = 150;
/** workerd leaves the cluster when its clock differs from the bucket's by roughly a tenth of this. */
const MOVED_MS = LEASE_MS / 4;
const FAR_MS = LEASE_MS * 2;

/** Every kind of fault, by its name in the report. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  "node killed, disk deleted": async ({ victim }) => {
    await victim.process.kill("both");
    victim.loseDisk();
    await victim.start();
  },
  "node killed": async ({ victim }) => {
    await victim.process.kill("both");
    await victim.start();
  },
  "engine killed": async ({ victim }) => {
    victim.process.crashWorker();
    await pause(LEASE_MS);
  },
  "node asleep past its lease": ({ victim }) => victim.process.sleep(PAST_LEASE_MS),
  "node asleep longer than a call waits": ({ victim }) => victim.process.sleep(PAST_CALLS_MS),
  "node asleep for a moment": ({ victim }) => victim.process.sleep(SHORT_MS),
  "node cut from the bucket": ({ victim, bucket }) =>
    during(bucket, (client) => (client === victim.name ? "cut" : undefined), PAST_LEASE_MS),
  "node cut from its peers": async ({ victim }) => {
    victim.path.cut(true);
    await pause(PAST_LEASE_MS);
    victim.path.cut(false);
  },
  "node silent to its peers and the bucket": async ({ victim, bucket }) => {
    victim.path.silence(true);
    const delayMs = PAST_CALLS_MS;
    await during(bucket, (client) => (client === victim.name ? { delayMs } : undefined), PAST_CALLS_MS);
    victim.path.silence(false);
  },
  "node cut from both": async ({ victim, bucket }) => {
    victim.path.cut(true);
    await during(bucket, (client) => (client === victim.name ? "cut" : undefined), PAST_LEASE_MS);
    victim.path.cut(false);
  },
  "bucket slow": ({ bucket }) => during(bucket, () => ({ delayMs: SLOW_MS }), PAST_LEASE_MS),
  "bucket fails one request of three": ({ bucket }) => {
    let count = 0;
    return during(bucket, () => (++count % 3 === 0 ? { status: 503 } : undefined), SHORT_MS);
  },
  "clock set back": async ({ victim }) => {
    victim.clock.move(MOVED_MS);
    await pause(PAST_LEASE_MS);
    victim.clock.move(-MOVED_MS);
    await pause(PAST_LEASE_MS);
    victim.clock.move(0);
  },
  "clock far off": async ({ victim }) => {
    victim.clock.move(FAR_MS);
    await pause(PAST_LEASE_MS);
    victim.clock.move(0);
  },
  "node restarted": async ({ victim }) => {
    await victim.process.stop();
    await victim.start();
  },
};

async function during(
  bucket: BucketEmulator,
  fault: (client: string) => ReturnType<BucketEmulator["fault"]>,
  ms: number,
): Promise<void> {
  bucket.fault = ({ client }) => fault(client);
  await pause(ms);
  bucket.fault = () => undefined;
}
