import { seedForest } from "../seed/forest.ts";
import { type AnswerBody, call, makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import type { Bench } from "./bench.ts";
import { SIBLINGS } from "./seeded-server.ts";

/** The data of a stopped server with a forest. */
export interface PlantedForest {
  readonly directory: string;
  /** A token that the API made. */
  readonly like: { readonly token: string; readonly accessor: string };
  /** The first token of each tree. */
  readonly tops: readonly string[];
}

/**
 * Makes an installation with so many tokens in so many trees, half of which began with a login at `auth/aws/`, or all of them.
 */
export async function plantForest(
  bench: Pick<Bench, "build" | "directory" | "say">,
  trees: number,
  tokens: number,
  { name = "forest", onlyLogins = false } = {},
): Promise<PlantedForest> {
  const directory = `${bench.directory}/${name}-${tokens}`;
  bench.say(`forest: seeding ${tokens} tokens in ${trees} trees`);
  const server = await GroveServer.start(bench.build, directory);
  await call(server, "POST", "sys/auth/aws", { type: "aws" });
  const mounts = await call(server, "GET", "sys/auth");
  const mount = mountIdIn(mounts.body, "aws/");
  const top = await makeToken(server, "create-orphan", { ttl: "24h", policies: ["root"] });
  const like = await makeToken({ place: server.place, token: top.token }, "create", { ttl: "24h" });
  for (let made = 0; made < SIBLINGS; made++) await makeToken(server, "create", { ttl: "24h", policies: ["default"] });
  // Trees tell the lists afterwards: this waits for them, and each list has its tables then.
  await call(server, "GET", "sys/tokens/map");
  await server.stop();
  const tops = await seedForest(bench.build, directory, like, {
    trees,
    tokens,
    mount: { id: mount, path: "aws/" },
    onlyLogins,
  });
  return { directory, like, tops };
}

function mountIdIn(body: AnswerBody | null, path: string): string {
  const mount = body?.data?.[path];
  if (typeof mount !== "object" || mount === null || !("uuid" in mount))
    throw new Error(`there is no mount at ${path}`);
  return String(mount.uuid);
}
