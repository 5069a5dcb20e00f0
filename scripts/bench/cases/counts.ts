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

/** A request to count. */
export interface CountedRequest extends LoadRequest {
  /** How long what follows is waited for. */
  readonly waitMs?: number;
}

/** A sweep that is due now is over by then. */
const WAIT_MS = 400;
const SETTLE_MS = 1_500;

/** Sends requests one at a time to a server on `directory` whose statements and calls are counted. By label. */
export async function countsOf(
  build: GroveBuild,
  directory: string,
  requests: readonly CountedRequest[],
): Promise<Record<string, Counts>> {
  const server = await GroveServer.start(build, directory, { counted: true });
  try {
    const counts: Record<string, Counts> = {};
    let kept = "";
    // Wait until the sweeps that an earlier server left behind have ended.
    if (requests[0])
      await call({ place: server.place, token: requests[0].token ?? "" }, "GET", "auth/token/lookup-self");
    await pause(SETTLE_MS);
    for (const request of requests) {
      const access = { place: server.place, token: request.token?.replaceAll(KEPT_TOKEN, kept) ?? "" };
      const body: unknown = JSON.parse(JSON.stringify(request.body ?? null).replaceAll(KEPT_TOKEN, kept));
      // The caller's tree is asked just before, so that neither waking it nor reading the installation is counted.
      await call(access, "GET", "auth/token/lookup-self");
      await takeCounts(server);
      const answer = await call(access, request.method, request.path.replace("/v1/", ""), body ?? undefined);
      if (answer.status >= 400) throw new Error(`${request.label}: answered ${answer.status}`);
      await pause(request.waitMs ?? WAIT_MS);
      counts[request.label] = await takeCounts(server);
      if (request.keepsToken) kept = answer.body?.auth?.client_token ?? "";
    }
    return counts;
  } finally {
    await server.stop();
  }
}

/** The counts since the last call. */
function takeCounts(server: GroveServer): Promise<Counts> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath: server.socket, path: "/bench/counts", agent: false }, (response) => {
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
