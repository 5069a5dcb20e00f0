import { inGroups } from "../../../src/base/parallel.ts";
import { call, makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import type { Bench } from "./bench.ts";
import { plantForest } from "./planted-forest.ts";
import { statusOf } from "./seeded-server.ts";

/** Leaves that are revoked one by one, for comparison. */
const LEAVES = 15;
/** First tokens of trees that are asked for. */
const PROBES = 60;

/** Many tokens that were ended by one call. Times in ms. */
export interface Ending {
  readonly by: "mount" | "prefix";
  readonly tokens: number;
  readonly trees: number;
  /** Of the call that ends them, once. */
  readonly ms: number;
  /** Of revoking a leaf. */
  readonly leafMs: number;
  readonly leafWorstMs: number;
  /** How many first tokens were asked for, and accepted before and right after the answer. */
  readonly probes: number;
  readonly acceptedBefore: number;
  readonly acceptedAfter: number;
}

/** Ends all tokens of a mount by one call, and asks for them at once. */
export async function endTogether(bench: Bench, by: Ending["by"], trees: number, tokens: number): Promise<Ending> {
  const { directory, tops } = await plantForest(bench, trees, tokens, { name: `ending-${by}`, onlyLogins: true });
  const server = await GroveServer.start(bench.build, directory);
  try {
    const probes = tops.filter((_, index) => index % Math.ceil(tops.length / PROBES) === 0);
    const acceptedBefore = await accepted(server, probes);
    const parent = await makeToken(server, "create-orphan", { ttl: "1h", policies: ["root"] });
    const creator = { place: server.place, token: parent.token };
    const leaves: number[] = [];
    while (leaves.length < LEAVES) {
      const { token } = await makeToken(creator, "create", { ttl: "1h" });
      leaves.push(await timeOf(server, "POST", "auth/token/revoke", { token }));
    }
    const ms =
      by === "mount"
        ? await timeOf(server, "DELETE", "sys/auth/aws")
        : await timeOf(server, "PUT", "sys/leases/revoke-prefix/auth/aws");
    const acceptedAfter = await accepted(server, probes);
    const [leafMs, leafWorstMs] = [median(leaves), Math.max(...leaves)];
    return { by, tokens, trees, ms, leafMs, leafWorstMs, probes: probes.length, acceptedBefore, acceptedAfter };
  } finally {
    await server.stop();
  }
}

async function timeOf(server: GroveServer, method: string, path: string, body?: unknown): Promise<number> {
  const start = performance.now();
  const { status } = await call(server, method, path, body);
  if (status !== 204 && status !== 200) throw new Error(`${path} answered ${status}`);
  return performance.now() - start;
}

async function accepted(server: GroveServer, tokens: readonly string[]): Promise<number> {
  const statuses = await inGroups(tokens, (token) => statusOf(server, token));
  return statuses.filter((status) => status === 200).length;
}
