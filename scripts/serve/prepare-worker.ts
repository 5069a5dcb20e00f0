import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { misreadSettings } from "../../src/base/misread-settings.ts";
import { err, ok, type Result } from "../../src/base/result.ts";
import { sealKeysOf } from "../backup/seal-keys.ts";
import { Child, followErrors } from "../local/child.ts";
import { helpAsCalled } from "../local/command-line.ts";
import type { DataDirectory } from "../local/data-directory.ts";
import { hasStoredTokens, INSTALLATION_ID } from "../local/stored-tokens.ts";
import { settingsFromEnvironment, usesMetadataServices } from "../local/worker-definition.ts";
import { findWorkerd } from "../local/workerd-program.ts";
import type { ServeCommand } from "./arguments.ts";
import { ARCHIVE_SOCKET } from "./audit-archive.ts";
import { placeWorker } from "./built-worker.ts";
import type { JoinedNode } from "./cluster/join-cluster.ts";
import { CLUSTER_VARIABLES } from "./cluster/node-settings.ts";
import { readTrustedCas } from "./trusted-cas.ts";
import { CLUSTER_NODE, SELF_HOSTED, workerModel } from "./worker-model.ts";
import { workerdConfig } from "./workerd-config.ts";

/** Longest path of a Unix domain socket on every system (macOS has the shortest). */
const MAX_SOCKET_PATH_BYTES = 103;

/** Sockets of the Worker for the gateway and for the cron trigger. Only the server's user can open them. */
export const WORKER_SOCKET = "worker.sock";
export const CRON_SOCKET = "cron.sock";
export const SOCKETS = [WORKER_SOCKET, CRON_SOCKET];

const CONFIG = "worker/config.capnp";

/** The inputs of a Worker's preparation. */
export interface Preparation {
  readonly command: ServeCommand;
  readonly data: DataDirectory;
  readonly commit: string;
  /** Absent for a server that is one process. */
  readonly node: JoinedNode | undefined;
  /** Gets every line of workerd's standard error. */
  readonly showError: (line: string) => void;
  readonly say: (line: string) => void;
}

/** A Worker that can be started. */
export interface PreparedWorker {
  /** Starts workerd. Call it again only after workerd has ended. */
  start(): Child;
  /** Removes the configuration after workerd has read it: a node's configuration contains the cluster's secret. */
  forgetConfig(): void;
}

/** Builds the Worker and writes workerd's configuration. The error is for the operator. */
export async function prepareWorker(preparation: Preparation): Promise<Result<PreparedWorker, string>> {
  const { command, data, commit, node, showError, say } = preparation;
  const socket = data.file(WORKER_SOCKET);
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH_BYTES) {
    return err(`the path of the data directory is too long for the socket in it; choose a shorter --data DIR`);
  }
  // Without a valid key every request would be answered 503.
  if (!process.env.GROVE_SEAL_KEY) {
    const needed = data.has(INSTALLATION_ID) ? "set the key of these data" : "new data need a new key";
    return err(helpAsCalled(`GROVE_SEAL_KEY is not set: ${needed} (docs/self-hosting.md)`));
  }
  const sealKeys = sealKeysOf(process.env);
  if (!sealKeys.ok) return sealKeys;
  const trustedCas = readTrustedCas(command.trustCa);
  if (!trustedCas.ok) return trustedCas;
  const workerd = findWorkerd();
  if (!workerd.ok) return workerd;
  const definition = await placeWorker(data.file("worker"));
  if (!definition.ok) return definition;
  mkdirSync(data.file("objects"), { recursive: true, mode: 0o700 });
  const storedTokens = node === undefined ? hasStoredTokens(data) : ok(false);
  if (!storedTokens.ok) return storedTokens;
  // In the wrong folder a server would silently start a new installation.
  if (node === undefined && !data.has(INSTALLATION_ID)) say(`${data.path} has no data: this is a new installation`);
  const metadataServices = usesMetadataServices(process.env);
  const environment = settingsFromEnvironment(definition.value.vars, process.env);
  // On a node these variables are for the bucket. The Worker must not use the bucket's rights for calls to the cloud.
  if (node !== undefined) for (const name of CLUSTER_VARIABLES) delete environment[name];
  const settings = {
    ...environment,
    ...(commit !== "" && { GROVE_COMMIT: commit }),
    CLOUD_METADATA_CREDENTIALS: String(metadataServices),
    GROVE_PRIVATE_HOSTS: command.privateHosts.text,
    GROVE_TRUSTED_CAS: trustedCas.value.join("\n"),
    ...(node === undefined ? SELF_HOSTED : CLUSTER_NODE),
    STORED_TOKENS: String(storedTokens.value),
  };
  for (const line of misreadSettings(settings)) say(line);
  const worker = workerModel(definition.value, Object.keys(settings));
  if (!worker.ok) return worker;
  for (const name of worker.value.leftOut) say(`${name} exists only on Cloudflare's network and is left out`);

  data.remove(SOCKETS);
  const config = workerdConfig({
    worker: worker.value,
    objects: data.file("objects"),
    socket,
    cronSocket: data.file(CRON_SOCKET),
    ...(command.direct !== undefined && { direct: command.direct }),
    installationId: node?.installationId ?? data.readOrMake(INSTALLATION_ID, () => randomBytes(16).toString("hex")),
    privateHosts: command.privateHosts.blocks,
    trustedCas: trustedCas.value,
    metadataServices,
    ...(node !== undefined && { cluster: node.workerd }),
    ...((node !== undefined || command.auditArchive !== undefined) && { archiveSocket: data.file(ARCHIVE_SOCKET) }),
  });
  const flags = node === undefined ? [] : ["--experimental"];
  return ok({
    start() {
      data.remove(SOCKETS);
      data.write(CONFIG, config);
      const child = new Child({
        command: workerd.value,
        args: ["serve", ...flags, data.file(CONFIG), "config"],
        env: { ...process.env, ...settings },
        output: "errors",
      });
      followErrors(child, showError);
      return child;
    },
    forgetConfig: () => data.remove([CONFIG]),
  });
}
