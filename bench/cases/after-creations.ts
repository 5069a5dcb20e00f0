import { type Bench, type CaseFigures, CONNECTIONS, lookUps, type Measured, MIB, measure, type Row } from "../case.ts";
import { runStream } from "../load.ts";
import { makeToken } from "../servers/client.ts";
import { ServeProcess } from "../servers/serve.ts";

/** Duration of the creations (s). */
const CREATION_SECONDS = 60;
/** Duration of each measurement of look-ups (s). */
const LOOK_UP_SECONDS = 5;
/**
 * Target: look-ups per second before the creations as a ratio to those right after them.
 * Background work of the creations continues during the second measurement.
 */
const MAX_SLOWDOWN = 1.11;

/** Measures look-ups of one token before and right after a minute of tree creations at full load. */
export async function measureAfterCreations(bench: Bench): Promise<CaseFigures> {
  const server = await ServeProcess.start(`${bench.directory}/after-creations`, bench.secrets);
  try {
    const { token } = await makeToken(server, "create-orphan", { ttl: "24h" });
    const rows: Row[] = [];
    const lookUp = async (when: string) => {
      rows.push(await figuresOf(server, token, when));
      return Number(rows.at(-1)?.["look-ups/s"]);
    };
    await lookUp("code is new");
    const alone = await lookUp("alone");
    bench.say(`creating trees for ${CREATION_SECONDS} s`);
    const body = { ttl: "1h", policies: ["default"] };
    const create = { method: "POST", path: "/v1/auth/token/create-orphan", body, token: server.token } as const;
    const made = await runStream(server.url, { connections: CONNECTIONS, requests: [create] }, CREATION_SECONDS);
    const after = await lookUp(`after ${made.answers} trees were made`);
    await lookUp("later");
    const what = "look-ups of one token alone, as a ratio to those right after creations";
    return { tables: [rows], targets: [{ what, got: alone / after, atMost: MAX_SLOWDOWN }] };
  } finally {
    await server.stop();
  }
}

async function figuresOf(server: Measured, token: string, when: string): Promise<Row> {
  const { perSecond, p50, p99, workerMicros } = await measure(server, lookUps([token]), LOOK_UP_SECONDS);
  const mib = server.usage().worker.residentBytes / MIB;
  return { when, "look-ups/s": perSecond, "p50 ms": p50, "p99 ms": p99, "Worker us": workerMicros, MiB: mib };
}
