import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { inGroups } from "../../../src/base/parallel.ts";
import { call, makeToken } from "../servers/call.ts";
import { GroveServer, objectsOf } from "../servers/grove.ts";
import type { Bench } from "./bench.ts";

/** How long the clean-up of one round may take. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 200;

/** Tokens without a parent that come and go, so many at a time. */
export interface FileGrowth {
  readonly atOnce: number;
  /** Files of trees after each round, and how many tokens there had been by then. */
  readonly rounds: readonly { readonly tokens: number; readonly files: number }[];
}

/** Makes tokens of trees of their own and revokes them, round after round, and counts what is left in the data directory. */
export async function countFiles(bench: Bench, atOnce: number, rounds: number): Promise<FileGrowth> {
  const directory = `${bench.directory}/files`;
  const server = await GroveServer.start(bench.build, directory);
  const objects = objectsOf(bench.build, directory, "TokenTree");
  const counted: { tokens: number; files: number }[] = [];
  try {
    for (let round = 1; round <= rounds; round++) {
      bench.say(`files: ${round * atOnce} tokens that come and go`);
      const numbers = Array.from({ length: atOnce }, (_, number) => number);
      const made = await inGroups(numbers, () =>
        makeToken(server, "create-orphan", { ttl: "1h", policies: ["default"] }),
      );
      await inGroups(made, ({ token }) => call({ place: server.place, token }, "POST", "auth/token/revoke-self", {}));
      await untilGone(server);
      counted.push({ tokens: round * atOnce, files: filesIn(objects) });
    }
  } finally {
    await server.stop();
  }
  return { atOnce, rounds: counted };
}

/** Waits until root's is the only token. */
async function untilGone(server: GroveServer): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await pause(LOOK_MS)) {
    const { body } = await call(server, "GET", "auth/token/accessors?list=true&limit=2");
    if (body?.data?.keys?.length === 1) return;
  }
  throw new Error("the tokens do not go");
}

function filesIn(objects: string): number {
  return readdirSync(objects).filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite").length;
}
