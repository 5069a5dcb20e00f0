import { KEPT_TOKEN, type LoadRequest } from "../load/request.ts";
import { makeToken } from "../servers/call.ts";
import { GroveServer } from "../servers/grove.ts";
import { type Bench, TOKEN_PATH } from "./bench.ts";
import { type Counts, countsOf } from "./counts.ts";

/** An operation with what it costs. */
export interface OperationCost {
  readonly operation: string;
  readonly counts: Counts;
}

/** Counts rows, calls and objects of every operation, in a tree that has some tokens. */
export async function countCosts(bench: Bench): Promise<OperationCost[]> {
  bench.say("cost: counting rows and calls");
  const directory = `${bench.directory}/cost`;
  const first = await GroveServer.start(bench.build, directory);
  const long = { ttl: "24h", policies: ["root"] };
  const maker = await makeToken(first, "create-orphan", long);
  const batch = await makeToken(first, "create-orphan", { ...long, policies: ["default"], type: "batch" });
  const creator = { place: first.place, token: maker.token };
  const sibling = await makeToken(creator, "create", long);
  const elsewhere = await makeToken(first, "create-orphan", long);
  // Every shard of the accessors is there already, as it is in any installation that has been used.
  for (let number = 0; number < 120; number++) await makeToken(creator, "create", long);
  await first.stop();

  const by =
    (token: string) =>
    (label: string, method: string, path: string, body?: unknown): LoadRequest => {
      return { label, method, path: TOKEN_PATH + path, token, ...(body !== undefined && { body }) };
    };
  const make = by(maker.token);
  const kept = by(KEPT_TOKEN);
  const create = { ttl: "12h", policies: ["default"] };
  const requests: LoadRequest[] = [
    make("look-up self", "GET", "lookup-self"),
    by(batch.token)("look-up self, orphan batch token", "GET", "lookup-self"),
    make("look-up of a token in the same tree", "POST", "lookup", { token: sibling.token }),
    make("look-up of a token in another tree", "POST", "lookup", { token: elsewhere.token }),
    make("renew self", "POST", "renew-self", {}),
    { ...make("create a child", "POST", "create", create), keepsToken: true },
    kept("revoke a leaf", "POST", "revoke-self", {}),
    { ...make("create an orphan", "POST", "create-orphan", create), keepsToken: true },
    kept("revoke an orphan", "POST", "revoke-self", {}),
    make("create an orphan batch token", "POST", "create-orphan", { ...create, type: "batch" }),
    make("create a child that expires", "POST", "create", { ...create, ttl: "1s" }),
  ];
  const counts = await countsOf(bench.build, directory, requests);
  return requests.flatMap(({ label }) => {
    const count = counts[label];
    return count ? [{ operation: label, counts: count }] : [];
  });
}
