import { request as httpRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { KEPT_TOKEN, type LoadRequest } from "../load/request.ts";
import { call } from "../servers/call.ts";
import { type GroveBuild, GroveServer } from "../servers/grove.ts";

/** What one request did to the objects, with what they did because of it afterwards. */
export interface Counts {
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Alarms that were set. */
  readonly alarms: number;
  /** Calls and alarms, by class and method, in order. */
  readonly calls: readonly string[];
  /** Different objects among them. */
  readonly objects: number;
}

/** So long after the last thing that happened (ms) everything that a request has led to is over: the longest alarm is 5 s later. */
const QUIET_MS = 6_000;
const LOOK_MS = 500;
/** Something of its own can always happen: a request is not waited for longer (ms). */
const LONGEST_MS = 30_000;

/** Sends requests one at a time to a server on `directory` whose statements and calls are counted. By label. */
export async function countsOf(
  build: GroveBuild,
  directory: string,
  requests: readonly LoadRequest[],
): Promise<Record<string, Counts>> {
  const server = await GroveServer.start(build, directory, { counted: true });
  try {
    const counts: Record<string, Counts> = {};
    let kept = "";
    // Wait until the sweeps that an earlier server left behind have ended.
    if (requests[0])
      await call({ place: server.place, token: requests[0].token ?? "" }, "GET", "auth/token/lookup-self");
    await untilQuiet(server);
    for (const request of requests) {
      const access = { place: server.place, token: request.token?.replaceAll(KEPT_TOKEN, kept) ?? "" };
      const body: unknown = JSON.parse(JSON.stringify(request.body ?? null).replaceAll(KEPT_TOKEN, kept));
      // The caller's tree is asked just before, so that neither waking it nor reading the installation is counted.
      await call(access, "GET", "auth/token/lookup-self");
      await countsAt(server, "DELETE");
      const answer = await call(access, request.method, request.path.replace("/v1/", ""), body ?? undefined);
      if (answer.status >= 400) throw new Error(`${request.label}: answered ${answer.status}`);
      counts[request.label] = await untilQuiet(server);
      if (request.keepsToken) kept = answer.body?.auth?.client_token ?? "";
    }
    return counts;
  } finally {
    await server.stop();
  }
}

/** The counts when nothing has happened for a while. */
async function untilQuiet(server: GroveServer): Promise<Counts> {
  const end = performance.now() + LONGEST_MS;
  let counts = await countsAt(server, "GET");
  for (let last = performance.now(); performance.now() < Math.min(end, last + QUIET_MS); ) {
    await pause(LOOK_MS);
    const now = await countsAt(server, "GET");
    if (now.calls.length > counts.calls.length) last = performance.now();
    counts = now;
  }
  return counts;
}

/** The counts since the last reset. */
function countsAt(server: GroveServer, method: "GET" | "DELETE"): Promise<Counts> {
  return new Promise((resolve, reject) => {
    const options = { socketPath: server.socket, path: "/bench/counts", method, agent: false };
    const request = httpRequest(options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => resolve(JSON.parse(text) as Counts));
    });
    request.on("error", reject);
    request.end();
  });
}
