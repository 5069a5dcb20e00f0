import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntilAnswers } from "../../local/answers.ts";
import { Child } from "../../local/child.ts";
import { findWorkerd } from "../../serve/workerd.ts";
import { type WorkerdSetup, workerdConfig } from "../../serve/workerd-config.ts";
import type { Place } from "../load/place.ts";
import { must } from "../must.ts";
import { type Usage, usageOf } from "./usage.ts";

/** How long a server may take to answer. */
const ANSWER_MS = 60_000;

/** A workerd that listens on a socket of its own. */
export class WorkerdServer {
  readonly place: Place;
  readonly #child: Child;

  private constructor(place: Place, child: Child) {
    this.place = place;
    this.#child = child;
  }

  /**
   * Writes the configuration into `directory`, beside its modules, and starts workerd. The Worker's log goes to
   * /dev/null: the cost of writing it is measured, the speed of a disk is not.
   */
  static async start(
    directory: string,
    setup: Pick<WorkerdSetup, "worker" | "modules" | "objects" | "installationId">,
    env: Readonly<Record<string, string>>,
  ): Promise<WorkerdServer> {
    const socket = join(directory, "worker.sock");
    rmSync(socket, { force: true });
    const config = join(directory, "config.capnp");
    // The cloud that machines log in from is on this machine, too.
    writeFileSync(config, workerdConfig({ ...setup, socket, privateHosts: ["127.0.0.0/8"], metadataServices: false }), {
      mode: 0o600,
    });
    const workerd = must(findWorkerd());
    const child = new Child({
      command: "/bin/sh",
      args: ["-c", 'exec "$0" "$@" >/dev/null', workerd, "serve", config, "config"],
      env: { ...process.env, ...env },
      output: "inherit",
    });
    if (!(await waitUntilAnswers({ kind: "socket", path: socket }, child.ended, ANSWER_MS))) {
      await child.stop();
      throw new Error(`workerd does not answer: ${await child.ended}`);
    }
    return new WorkerdServer({ kind: "socket", path: socket }, child);
  }

  /** Memory and CPU time so far. */
  usage(): Usage {
    return usageOf(this.#child.pid ?? 0);
  }

  /** Ends it; what it has answered is on disk. */
  stop(): Promise<void> {
    return this.#child.stop();
  }

  /** Ends it in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#child.signal("SIGKILL");
    await this.#child.ended;
  }
}
