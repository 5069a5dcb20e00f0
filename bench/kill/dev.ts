import { setTimeout as pause } from "node:timers/promises";
import { newSecrets, ServeProcess, temporaryDirectory } from "../servers/serve.ts";
import { Clients } from "./clients/clients.ts";
import { type HistoryRun, reportHistory } from "./clients/report.ts";

/** Shortest time between a start and a kill, and the longest random addition (ms). */
const LEAST_CALM_MS = 4_000;
const MAX_MORE_MS = 6_000;

/** Repeatedly kills `npm run dev` with all its processes, and checks the history. @returns the exit code */
export async function killDev({ rounds, minutes, directory, choices, say }: HistoryRun): Promise<number> {
  const data = temporaryDirectory("dev", directory);
  const secrets = newSecrets();
  let server = await ServeProcess.start(data, secrets, { script: "dev" });
  const { url, token } = server;
  const flags = [`--port=${new URL(url).port}`];
  const clients = new Clients({ urls: () => [url], rootToken: token, mayLackWorker: true }, choices);
  const running = clients.run();
  const until = performance.now() + minutes * 60_000;
  let count = 0;
  for (; count < rounds && performance.now() < until; count++) {
    await pause(LEAST_CALM_MS + choices.below(MAX_MORE_MS));
    await server.kill("both");
    server = await ServeProcess.start(data, secrets, { script: "dev", flags });
    say(`${count + 1} of ${rounds}`);
  }
  clients.stop();
  await running;
  await clients.useAll();
  await clients.recorder.checkRecords();
  await server.stop();
  process.stdout.write(`${count} kills of npm run dev\n`);
  return reportHistory(clients.recorder, say) === 0 ? 0 : 1;
}
