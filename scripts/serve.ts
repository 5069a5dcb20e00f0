import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { startGateway } from "../gateway/server.ts";
import type { UpstreamAddress } from "../gateway/upstream.ts";
import { maxBodyBytes } from "../src/base/limits.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { refusalOfAll, succeeds, waitUntilAnswers } from "./local/answers.ts";
import { Child, followErrors } from "./local/child.ts";
import { runCommand } from "./local/command-line.ts";
import { CRON_MS, startCron } from "./local/cron.ts";
import { DataDirectory } from "./local/data-directory.ts";
import { noteServing, restoreWarning } from "./local/last-served.ts";
import { listenFailure, portProblem } from "./local/listen.ts";
import { type Running, runServer } from "./local/supervise.ts";
import { sourceCommit, sourceVersion } from "./local/version.ts";
import { settingsFromEnvironment, usesMetadataServices } from "./local/worker-definition.ts";
import { HELP, parseServeArguments, type ServeCommand } from "./serve/arguments.ts";
import { placeWorker } from "./serve/built-worker.ts";
import { serveMetrics } from "./serve/metrics.ts";
import { PAUSE_SOCKET, Pauses } from "./serve/pause.ts";
import { SELF_HOSTED, workerModel } from "./serve/worker.ts";
import { findWorkerd, workerdConfig } from "./serve/workerd-config.ts";

/** How long the Worker may take to answer. */
const ANSWER_MS = 60_000;

/** Longest path of a Unix domain socket on every system (macOS has the shortest). */
const MAX_SOCKET_PATH_BYTES = 103;

/** Sockets of the Worker for the gateway and for the cron trigger. Only the server's user can open them. */
const WORKER_SOCKET = "worker.sock";
const CRON_SOCKET = "cron.sock";
const SOCKETS = [WORKER_SOCKET, CRON_SOCKET];

const PORT_ADVICE = "choose another with --listen HOST:PORT";

const say = (line: string): void => console.error(`serve: ${line}`);

/** Builds the Worker, writes workerd's configuration and starts it. */
async function startWorker(command: ServeCommand, data: DataDirectory, commit: string): Promise<Result<Child, string>> {
  const socket = data.file(WORKER_SOCKET);
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH_BYTES) {
    return err(`the path of the data directory is too long for the socket in it; choose a shorter --data DIR`);
  }
  const workerd = findWorkerd();
  if (!workerd.ok) return workerd;
  const definition = await placeWorker(data.file("worker"));
  if (!definition.ok) return definition;
  const metadataServices = usesMetadataServices(process.env);
  const settings = {
    ...settingsFromEnvironment(definition.value.vars, process.env),
    ...(commit !== "" && { GROVE_COMMIT: commit }),
    CLOUD_METADATA_CREDENTIALS: String(metadataServices),
    GROVE_PRIVATE_HOSTS: command.privateHosts.text,
    ...SELF_HOSTED,
  };
  if (!("GROVE_SEAL_KEY" in settings)) {
    say("GROVE_SEAL_KEY is not set: every request will be answered 503 (docs/self-hosting.md)");
  }
  const worker = workerModel(definition.value, Object.keys(settings));
  if (!worker.ok) return worker;
  for (const name of worker.value.leftOut) say(`${name} exists only on Cloudflare's network and is left out`);

  data.remove(SOCKETS);
  mkdirSync(data.file("objects"), { recursive: true, mode: 0o700 });
  const config = workerdConfig({
    worker: worker.value,
    objects: data.file("objects"),
    socket,
    cronSocket: data.file(CRON_SOCKET),
    ...(command.direct !== undefined && { direct: command.direct }),
    installationId: data.readOrMake("installation-id", () => randomBytes(16).toString("hex")),
    privateHosts: command.privateHosts.blocks,
    metadataServices,
  });
  data.write("worker/config.capnp", config);
  const child = new Child({
    command: workerd.value,
    args: ["serve", data.file("worker/config.capnp"), "config"],
    env: { ...process.env, ...settings },
    output: "errors",
  });
  followErrors(child, console.error);
  return ok(child);
}

async function start(command: ServeCommand, commit: string, asked: Promise<void>): Promise<Result<Running, string>> {
  const taken = await portProblem(command.listen, PORT_ADVICE);
  if (taken !== undefined) return err(taken);
  const directTaken = command.direct && (await portProblem(command.direct, "choose another with --direct PORT"));
  if (directTaken !== undefined) return err(directTaken);
  const data = DataDirectory.open(command.data);
  if (!data.ok) return data;
  const worker = await startWorker(command, data.value, commit);
  if (!worker.ok) return worker;

  const fail = async (message: string): Promise<Result<never, string>> => {
    await worker.value.stop();
    data.value.close();
    return err(message);
  };
  const gone = Promise.race([asked.then(() => "asked to stop"), worker.value.ended]);
  const socket = data.value.file(WORKER_SOCKET);
  if (!(await waitUntilAnswers({ kind: "socket", path: socket }, gone, ANSWER_MS))) {
    return fail(`the Worker does not answer: ${await Promise.race([gone, "it takes too long"])}`);
  }
  const gateway = await startGateway({
    listen: command.listen,
    upstream: { kind: "socket", path: socket },
    trustedProxies: command.trustedProxies,
    clientSharePercent: command.clientSharePercent,
    maxBodyBytes: maxBodyBytes(process.env.MAX_BODY_BYTES),
    log: (line) => console.error(`gateway: ${line}`),
    audit: console.log,
  });
  if (!gateway.ok) return fail(listenFailure(command.listen, gateway.error, PORT_ADVICE));
  const metrics =
    command.metrics &&
    (await serveMetrics(command.metrics, {
      figures: gateway.value.figures,
      processes: { gateway: "self", worker: worker.value.pid },
    }));
  if (metrics?.ok === false) {
    await gateway.value.stop();
    return fail(`the address of --metrics can't be used: ${metrics.error}`);
  }
  if (metrics) say(`metrics of the gateway on port ${metrics.value.port}`);
  // A missing seal key was reported before the slow part of the start.
  const refusal =
    process.env.GROVE_SEAL_KEY === undefined ? undefined : await refusalOfAll({ kind: "socket", path: socket });
  for (const warning of [refusal, restoreWarning(data.value, Date.now())]) {
    if (warning !== undefined) say(warning);
  }
  const stopNoting = noteServing(data.value);
  const cron: UpstreamAddress = { kind: "socket", path: data.value.file(CRON_SOCKET) };
  const stopCron = startCron(() => succeeds(cron, "/", CRON_MS), say);
  const pauses = new Pauses(worker.value, data.value.file(PAUSE_SOCKET));
  return ok({
    gateway: gateway.value,
    child: worker.value,
    stopping: () => {
      stopCron();
      pauses.close();
    },
    close: () => {
      if (metrics?.ok) void metrics.value.stop();
      stopNoting();
      data.value.remove(SOCKETS);
      data.value.close();
    },
  });
}

async function serve(command: ServeCommand): Promise<number> {
  const { data, direct, listen } = command;
  const shown = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  const code = await runServer({
    childName: "the Worker",
    start: (asked) => {
      const commit = sourceCommit();
      say(`Grove ${sourceVersion(commit)}`);
      return start(command, commit, asked);
    },
    announce: ({ gateway }) => {
      say(`data in ${data}`);
      say(`Grove listens on http://${shown}:${gateway.port}`);
      if (direct !== undefined) say(`past the gateway on http://${shown}:${direct.port}`);
    },
    say,
  });
  if (code === 0) say("stopped");
  return code;
}

// Databases and sockets are for this user only, also in a directory that others may enter.
process.umask(0o077);
process.exit(await runCommand(parseServeArguments(process.argv.slice(2)), HELP, say, serve));
