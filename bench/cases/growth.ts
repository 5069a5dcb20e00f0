import { type Bench, type CaseFigures, lookUps, measure, type Row } from "../case.ts";
import type { LoadRequest } from "../load.ts";
import { plantForest } from "../seed/forest.ts";
import { ServeProcess } from "../servers/serve.ts";
import { pairedRatio, spread } from "../statistics.ts";

/** Tokens of the small installation. */
const SMALL = 1_000;
/** How much slower an operation may be in the large installation. */
const FLAT = 1.3;

/** Measures operations on a tree that has half of all tokens, in a small installation and in a large one. */
export async function measureGrowth(bench: Bench): Promise<CaseFigures> {
  const sizes = [SMALL, bench.tokens];
  const servers: ServeProcess[] = [];
  const times = new Map<string, number[][]>();
  try {
    const requests = [];
    for (const size of sizes) {
      bench.say(`growth: planting ${size} tokens`);
      const data = `${bench.directory}/growth-${size}`;
      const shape = { trees: Math.ceil(size / 200), tokens: size / 2, largest: size / 2 };
      const { tops } = await plantForest(data, bench.secrets, shape);
      const server = await ServeProcess.start(data, bench.secrets);
      servers.push(server);
      requests.push(operationsOn(server.token, tops[0] ?? ""));
    }
    for (let round = 0; round <= bench.rounds; round++) {
      bench.say(round === 0 ? "growth: warming up" : `growth: round ${round} of ${bench.rounds}`);
      for (const [at, server] of servers.entries()) {
        for (const [name, list] of Object.entries(requests[at] ?? {})) {
          const { p50 } = await measure(server, list, bench.seconds);
          const known = times.get(name) ?? sizes.map(() => []);
          times.set(name, known);
          if (round > 0) known[at]?.push(p50);
        }
      }
    }
  } finally {
    for (const server of servers) await server.stop();
  }
  const rows = [...times].map(([operation, [small = [], large = []]]): Row => {
    const [least, most] = [spread(small), spread(large)];
    const ratio = pairedRatio(large, small).median;
    return { operation, [`p50 ms at ${SMALL}`]: least.median, [`p50 ms at ${bench.tokens}`]: most.median, ratio };
  });
  const targets = rows.map(({ operation, ratio }) => {
    return { what: `${operation} at ${bench.tokens} tokens as a ratio to ${SMALL}`, got: Number(ratio), atMost: FLAT };
  });
  return { tables: [rows], targets };
}

/** @param token the first one of the largest tree. */
function operationsOn(root: string, token: string): Record<string, LoadRequest[]> {
  const post = (endpoint: string, body: unknown): LoadRequest[] => {
    return [{ method: "POST", path: `/v1/auth/token/${endpoint}`, token, body }];
  };
  return {
    "look-up": lookUps([token]),
    renewal: post("renew-self", {}),
    "creation of a child": post("create", { ttl: "1h", policies: ["default"] }),
    "list of 100 accessors": [{ method: "GET", path: "/v1/auth/token/accessors?list=true&limit=100", token: root }],
  };
}
