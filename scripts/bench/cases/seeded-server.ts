import { seedTree } from "../seed/tree.ts";
import { call, makeToken } from "../servers/call.ts";
import { type GroveBuild, GroveServer } from "../servers/grove.ts";

/** Small tokens of each kind that a seeded tree has; enough that every shard of the accessors has one. */
export const SIBLINGS = 120;

/** A server with one big tree and a few small ones. */
export interface SeededServer {
  readonly server: GroveServer;
  readonly directory: string;
  /** The big tree's first token, with the root policy. */
  readonly top: string;
  /** A child of it with the seeded tokens below it. */
  readonly branch: { readonly token: string; readonly accessor: string };
  /** Other children of the first token, without children. */
  readonly siblings: readonly string[];
  /** Some of the tokens below the branch. */
  readonly below: readonly string[];
  /** First tokens of trees of one token. */
  readonly others: readonly string[];
}

/** Starts a server on `directory` that has a tree with `count` tokens below one. */
export async function startSeeded(build: GroveBuild, directory: string, count: number): Promise<SeededServer> {
  const first = await GroveServer.start(build, directory);
  const plain = { ttl: "24h", policies: ["default"] };
  const top = await makeToken(first, "create-orphan", { ttl: "24h", policies: ["root"] });
  const creator = { place: first.place, token: top.token };
  const branch = await makeToken(creator, "create", { ttl: "24h", policies: ["root"] });
  const like = await makeToken(creator, "create", plain);
  const siblings: string[] = [];
  while (siblings.length < SIBLINGS) siblings.push((await makeToken(creator, "create", plain)).token);
  const others: string[] = [];
  while (others.length < 8) others.push((await makeToken(first, "create-orphan", plain)).token);
  await first.stop();
  const below = await seedTree(build, directory, { count, parent: branch.token, child: like });
  const server = await GroveServer.start(build, directory);
  return { server, directory, top: top.token, branch, siblings, below, others };
}

/** The status of a look-up of the caller by `token`. */
export async function statusOf(server: GroveServer, token: string): Promise<number> {
  return (await call({ place: server.place, token }, "GET", "auth/token/lookup-self")).status;
}
