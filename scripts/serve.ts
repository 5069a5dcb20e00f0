import { setTimeout as pause } from "node:timers/promises";
import { startGateway } from "../gateway/server.ts";
import { numberSetting } from "../src/base/number-settings.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import type { Child } from "./local/child.ts";
import { helpAsCalled, runCommand } from "./local/command-line.ts";
import { CRON_MS, hourOf, startCron } from "./local/cron.ts";
import { DataDirectory } from "./local/data-directory.ts";
import { noteServing, oldData, restoreWarning } from "./local/last-served.ts";
import { addressText, listenFailure, portProblem } from "./local/listen-address.ts";
import { makeDirectory } from "./local/make-directory.ts";
import { type Running, runServer } from "./local/run-server.ts";
import { sourceCommit, sourceVersion } from "./local/source-version.ts";
import { tokenIn } from "./local/token-from-environment.ts";
import { refusalOfAll, succeeds, waitUntilAnswers } from "./local/wait-until-answers.ts";
import { DEFAULT_DATA, HELP, parseServeArguments, type ServeCommand } from "./serve/arguments.ts";
import {
  ARCHIVE_SOCKET,
  type ArchiveService,
  archiveInBucket,
  archiveInFiles,
  startArchive,
} from "./serve/audit-archive.ts";
import { PAUSE_SOCKET, Pauses } from "./serve/backup-pause.ts";
import { takeHour } from "./serve/cluster/hourly-turn.ts";
import { type JoinedNode, joinCluster, NODE_FILE } from "./serve/cluster/join-cluster.ts";
import { type ClusterNode, LastError, startNode } from "./serve/cluster/node.ts";
import { type ClusterPlace, readClusterSettings } from "./serve/cluster/node-settings.ts";
import { nodeName, startPresence } from "./serve/cluster/presence.ts";
import { initTokenOf, startDeclaredAt } from "./serve/declared-start.ts";
import { serveMetrics } from "./serve/metrics-page.ts";
import { CRON_SOCKET, prepareWorker, SOCKETS, WORKER_SOCKET } from "./serve/prepare-worker.ts";
import { StorageFaults } from "./serve/storage-faults.ts";

/** How long the Worker may take to answer. */
const ANSWER_MS = 60_000;

/** When clients of a node whose Worker has ended should try again (s): most starts take less. */
const RESTART_SECONDS = 2;

const PORT_ADVICE = "choose another with --listen HOST:PORT";

const say = (line: string): void => console.error(`serve: ${line}`);

/** A started Worker, and the means by which it is kept running. */
type StartedWorker =
  | {
      readonly kind: "alone";
      readonly worker: Child;
      readonly archive: ArchiveService | undefined;
      readonly faults: StorageFaults;
    }
  | ({ readonly kind: "node"; readonly archive: ArchiveService; readonly faults: StorageFaults } & ClusterNode &
      JoinedNode);

/** Calls the Worker's entrypoint for the cron trigger. True when it succeeds. */
function callCron(data: DataDirectory, path: string): Promise<boolean> {
  return succeeds({ kind: "socket", path: data.file(CRON_SOCKET) }, path, CRON_MS);
}

/** Follows the faults of the disk, and reports them to the Worker. */
function followFaults(data: DataDirectory): StorageFaults {
  const report = (path: string) => callCron(data, path);
  return new StorageFaults({ data: data.path, show: console.error, say, report });
}

/** Starts the Worker of a server that is one process, whose data are in its directory. */
async function startAlone(
  command: ServeCommand,
  data: DataDirectory,
  commit: string,
): Promise<Result<StartedWorker, string>> {
  if (data.has(NODE_FILE)) {
    return err(`${data.path} is of a node of a cluster, whose data are in its bucket; choose another --data DIR`);
  }
  const faults = followFaults(data);
  const prepared = await prepareWorker({ command, data, commit, node: undefined, showError: faults.follow, say });
  if (!prepared.ok) return prepared;
  const archive =
    command.auditArchive === undefined ? ok(undefined) : await startFileArchive(command.auditArchive, data);
  return archive.ok ? ok({ kind: "alone", worker: prepared.value.start(), archive: archive.value, faults }) : archive;
}

async function startFileArchive(directory: string, data: DataDirectory): Promise<Result<ArchiveService, string>> {
  try {
    makeDirectory(directory);
  } catch (error) {
    return err(`the directory of --audit-archive can't be made: ${error instanceof Error ? error.message : error}`);
  }
  data.remove([ARCHIVE_SOCKET]);
  return startArchive(data.file(ARCHIVE_SOCKET), archiveInFiles(directory));
}

/** Starts the Worker of a node of a cluster. */
async function startInCluster(
  place: ClusterPlace,
  command: ServeCommand,
  data: DataDirectory,
  commit: string,
  asked: Promise<void>,
): Promise<Result<StartedWorker, string>> {
  const settings = readClusterSettings(place, process.env);
  if (!settings.ok) return settings;
  const taken = await portProblem(settings.value.listen, "choose another with --cluster-listen HOST:PORT");
  if (taken !== undefined) return err(taken);
  const { timeDivisor, listen } = settings.value;
  const joined = await joinCluster({
    settings: settings.value,
    environment: process.env,
    data,
    asked,
    // Keeps the process alive: until the bucket answers nothing else does.
    pause: (ms) => pause(ms),
    say,
  });
  if (!joined.ok) return joined;
  const lastError = new LastError();
  const faults = followFaults(data);
  const showError = (line: string): void => {
    lastError.note(line);
    faults.follow(line);
  };
  const prepared = await prepareWorker({ command, data, commit, node: joined.value, showError, say });
  if (!prepared.ok) return prepared;
  data.remove([ARCHIVE_SOCKET]);
  const archive = await startArchive(data.file(ARCHIVE_SOCKET), archiveInBucket(joined.value.bucket));
  if (!archive.ok) return archive;
  const socket = data.file(WORKER_SOCKET);
  const leave = () => callCron(data, "/leaving");
  const node = startNode({ prepared: prepared.value, socket, listen, timeDivisor, lastError, leave, say });
  return ok({ kind: "node", archive: archive.value, faults, ...joined.value, ...node });
}

async function start(command: ServeCommand, commit: string, asked: Promise<void>): Promise<Result<Running, string>> {
  const initToken = tokenIn(process.env, "GROVE_INIT_TOKEN");
  if (command.init !== undefined && !initToken.ok) return initToken;
  if (command.init !== undefined && process.env.GROVE_DEV_ROOT_TOKEN) {
    return err("GROVE_DEV_ROOT_TOKEN makes a root token before --init is read: set one of them");
  }
  const taken = await portProblem(command.listen, PORT_ADVICE);
  if (taken !== undefined) return err(taken);
  const directTaken = command.direct && (await portProblem(command.direct, "choose another with --direct PORT"));
  if (directTaken !== undefined) return err(directTaken);
  const opened = DataDirectory.open(command.data, command.data === DEFAULT_DATA ? "made" : "needed");
  if (!opened.ok) return opened;
  const data = opened.value;
  const started =
    command.cluster === undefined
      ? await startAlone(command, data, commit)
      : await startInCluster(command.cluster, command, data, commit, asked);
  if (!started.ok) {
    data.close();
    return started;
  }
  const { worker, faults, archive } = started.value;
  const node = started.value.kind === "node" ? started.value : undefined;

  const fail = async (message: string): Promise<Result<never, string>> => {
    await worker.stop();
    await faults.settled();
    archive?.stop();
    data.close();
    return err(message);
  };
  const gone = Promise.race([asked.then(() => "asked to stop"), worker.ended]);
  const socket = data.file(WORKER_SOCKET);
  // A node waits as long as its bucket is out of reach.
  const isUp =
    node === undefined
      ? await waitUntilAnswers({ kind: "socket", path: socket }, gone, ANSWER_MS)
      : await Promise.race([node.worker.up.then(() => true), gone.then(() => false)]);
  if (!isUp) {
    return fail(`the Worker does not answer: ${await Promise.race([gone, "it takes too long"])}`);
  }
  faults.reportAgain();
  if (command.init !== undefined) {
    const begun = await startDeclaredAt({ kind: "socket", path: socket }, command.init, process.env, gone, say);
    if (!begun.ok) return fail(begun.error);
    say(begun.value);
  }
  const gateway = await startGateway({
    listen: command.listen,
    upstream: { kind: "socket", path: socket },
    ...(node !== undefined && { isRestarted: true, readiness: node.isReady }),
    trustedProxies: command.trustedProxies,
    clientSharePercent: command.clientSharePercent,
    maxBodyBytes: numberSetting("MAX_BODY_BYTES", process.env.MAX_BODY_BYTES),
    log: (line) => console.error(`gateway: ${line}`),
    audit: console.log,
  });
  if (!gateway.ok) return fail(listenFailure(command.listen, gateway.error, PORT_ADVICE));
  node?.worker.follow((problem) => gateway.value.suspend(problem, RESTART_SECONDS));
  const metrics =
    command.metrics &&
    (await serveMetrics(command.metrics, {
      figures: gateway.value.figures,
      processes: () => ({ gateway: "self", worker: worker.pid }),
    }));
  if (metrics?.ok === false) {
    await gateway.value.stop();
    return fail(`the address of --metrics can't be used: ${metrics.error}`);
  }
  if (metrics) say(`metrics of the gateway on port ${metrics.value.port}`);
  const refusal = await refusalOfAll({ kind: "socket", path: socket });
  if (refusal !== undefined) say(helpAsCalled(refusal));
  const alone = started.value.kind === "alone" ? serveAlone(started.value.worker, data) : undefined;
  const stopCron = startCron(async () => {
    const isElsewhere = node !== undefined && !(await takeHour(node.bucket, hourOf(Date.now())));
    return isElsewhere || callCron(data, "/");
  }, say);
  const presence = node && startPresence(nodeName(node.workerd), (path) => callCron(data, path));
  return ok({
    gateway: gateway.value,
    child: worker,
    stopping: async () => {
      stopCron();
      presence?.leave();
      alone?.pauses.close();
      await node?.handOver();
      await faults.settled();
    },
    close: () => {
      if (metrics?.ok) void metrics.value.stop();
      alone?.stopNoting();
      archive?.stop();
      data.remove(SOCKETS);
      data.close();
    },
  });
}

/** Parts of a server with local data only: a warning about restored data, and backups while it runs. */
function serveAlone(worker: Child, data: DataDirectory) {
  const old = oldData(data, Date.now());
  if (old !== undefined) {
    say(helpAsCalled(restoreWarning(old)));
    const query = new URLSearchParams({ last_served: old.at, copy: String(old.isCopy) });
    void callCron(data, `/storage-faults?${query}`);
  }
  return {
    stopNoting: noteServing(data, (warning) => say(helpAsCalled(warning))),
    pauses: new Pauses(worker, data.file(PAUSE_SOCKET)),
  };
}

async function serve(command: ServeCommand): Promise<number> {
  if (command.init !== undefined) process.env.GROVE_INIT_TOKEN = initTokenOf(process.env);
  const { data, direct, listen } = command;
  const code = await runServer({
    childName: "the Worker",
    start: (asked) => {
      const commit = sourceCommit();
      say(`Grove ${sourceVersion(commit)}`);
      return start(command, commit, asked);
    },
    announce: ({ gateway }) => {
      say(`data in ${data}`);
      const shown = `http://${addressText({ host: listen.host, port: gateway.port })}`;
      say(`Grove listens on ${shown}, the console is at ${shown}/ui/`);
      if (direct !== undefined) say(`past the gateway on http://${addressText(direct)}`);
    },
    say,
  });
  if (code === 0) say("stopped");
  return code;
}

// Databases and sockets are for this user only, also in a directory that others may enter.
process.umask(0o077);
process.exit(await runCommand(parseServeArguments(process.argv.slice(2)), HELP, say, serve));
