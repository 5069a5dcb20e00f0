import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { listenAt } from "../../../gateway/server.ts";
import { BUCKET, type BucketEmulator } from "../../../test/support/bucket.ts";
import { freePort } from "../../../test/support/free-port.ts";
import { newSecrets, ServeProcess } from "../../servers/serve.ts";
import type { Clock } from "./clock.ts";

/** Leases are this many times shorter than in production: 4 s. */
export const TIME_DIVISOR = 5;
export const LEASE_MS = 20_000 / TIME_DIVISOR;

/** The run fails after this many failed starts of a node. */
const MAX_STARTS = 5;

/** Secrets that all nodes share. */
export const SECRETS = { ...newSecrets(), GROVE_CLUSTER_KEY: randomBytes(32).toString("hex") };

/** A TCP proxy between a node and the other nodes, which can cut their connections. */
export class PeerPath {
  readonly port: number;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #isCut = false;
  #isSilent = false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** @param target port of the node. */
  static async start(target: number): Promise<PeerPath> {
    const server = createServer({ noDelay: true }, (socket) => path.#accept(socket, target));
    const bound = await listenAt(server, { host: "127.0.0.1", port: 0 });
    if (!bound.ok) throw new Error(`the path to a node can't listen: ${bound.error}`);
    const path = new PeerPath(server, bound.value);
    return path;
  }

  /** Cuts or restores the path. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#open) socket.destroy();
  }

  /**
   * Drops what the connections carry, without closing them, as when a machine loses its power or its network. New connections
   * get no answer. The end closes all of them, as a machine that comes back does.
   */
  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
    for (const socket of this.#open) {
      if (isSilent) socket.unpipe().pause();
      else socket.destroy();
    }
  }

  close(): void {
    this.cut(true);
    this.#server.close();
  }

  #accept(socket: Socket, target: number): void {
    if (this.#isCut) {
      socket.destroy();
      return;
    }
    if (this.#isSilent) {
      this.#keep(socket, () => {});
      return;
    }
    const onward = connect({ port: target, host: "127.0.0.1", noDelay: true });
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#keep(one, () => other.destroy());
      one.pipe(other);
    }
  }

  #keep(socket: Socket, onEnd: () => void): void {
    this.#open.add(socket);
    socket.on("error", onEnd);
    socket.on("close", () => {
      this.#open.delete(socket);
      onEnd();
    });
  }
}

/** A node of the cluster. */
export class Node {
  readonly name: string;
  readonly path: PeerPath;
  readonly clock: Clock;
  readonly #data: string;
  readonly #flags: readonly string[];
  readonly #bucket: BucketEmulator;
  readonly #onLine: (line: string) => void;
  #process: ServeProcess | undefined;
  #url = "";

  private constructor(
    name: string,
    clock: Clock,
    path: PeerPath,
    data: string,
    flags: readonly string[],
    bucket: BucketEmulator,
    onLine: (line: string) => void,
  ) {
    this.#onLine = onLine;
    this.name = name;
    this.clock = clock;
    this.path = path;
    this.#data = data;
    this.#flags = flags;
    this.#bucket = bucket;
  }

  /** @param onLine is called with each line of the log. */
  static async make(
    name: string,
    clock: Clock,
    directory: string,
    bucket: BucketEmulator,
    onLine: (line: string) => void,
  ): Promise<Node> {
    const port = await freePort();
    const path = await PeerPath.start(port);
    const flags = [
      "--cluster",
      `s3://${BUCKET}/kill`,
      "--cluster-listen",
      `127.0.0.1:${port}`,
      "--cluster-advertise",
      `127.0.0.1:${path.port}`,
    ];
    return new Node(name, clock, path, join(directory, name), flags, bucket, onLine);
  }

  /** Origin of the node, also while it is stopped. */
  get url(): string {
    return this.#url;
  }

  get process(): ServeProcess {
    if (!this.#process) throw new Error(`${this.name} does not run`);
    return this.#process;
  }

  /** Starts the node at its previous address, if it had one. */
  async start(): Promise<void> {
    const settings = {
      ...this.#bucket.environment,
      ...this.clock.settings,
      // The emulated bucket distinguishes the nodes by their access keys.
      AWS_ACCESS_KEY_ID: this.name,
      GROVE_CLUSTER_KEY: SECRETS.GROVE_CLUSTER_KEY,
      GROVE_CLUSTER_UNSAFE_TIME_DIVISOR: String(TIME_DIVISOR),
    };
    const listen = this.#url === "" ? [] : ["--listen", this.#url.replace("http://", "")];
    const options = { flags: [...this.#flags, ...listen], settings, onLine: this.#onLine };
    const start = () => ServeProcess.start(this.#data, SECRETS, options);
    // On an overloaded machine, the short leases may expire while a node starts.
    for (let tries = 1; ; tries++) {
      try {
        this.#process = await start();
        break;
      } catch (error) {
        if (tries === MAX_STARTS) throw error;
      }
    }
    this.#url = this.#process.url;
  }

  /** Deletes the disk of a stopped node. */
  loseDisk(): void {
    rmSync(this.#data, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
    this.path.close();
  }
}
