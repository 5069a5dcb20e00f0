import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onPort, waitUntilAnswers } from "../../local/answers.ts";
import { PROJECT } from "../../local/worker-definition.ts";
import type { Place } from "../load/place.ts";
import { HEAP_FLAGS } from "./gateway.ts";
import { type Usage, usageOf } from "./usage.ts";

/** What is killed. */
export type KillTarget = "workerd" | "serve" | "both";

/** `npm run serve` (without npm) on a directory. */
export class ServeProcess {
  readonly place: Extract<Place, { kind: "tcp" }>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#ended = once(child, "exit");
    this.place = { kind: "tcp", host: "127.0.0.1", port, tls: false };
  }

  /** Starts the server and waits until it answers. Audit lines go nowhere. */
  static async start(data: string, port: number, env: Readonly<Record<string, string>>): Promise<ServeProcess> {
    const words = [
      ...HEAP_FLAGS,
      join(PROJECT, "scripts/bundled.js"),
      join(PROJECT, "scripts/serve.ts"),
      "--listen",
      `127.0.0.1:${port}`,
      "--data",
      data,
      "--allow-private-host=127.0.0.0/8",
    ];
    const child = spawn(process.execPath, words, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let told = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      told += text;
    });
    const server = new ServeProcess(child, port);
    // Also when the run ends by a fault of its own.
    const kill = (): void => void child.kill("SIGTERM");
    process.once("exit", kill);
    void server.#ended.then(() => process.off("exit", kill));
    if (!(await waitUntilAnswers(onPort(port), server.#ended, 90_000))) {
      child.kill("SIGKILL");
      throw new Error(`the server does not start:\n${told}`);
    }
    return server;
  }

  /** Memory and CPU time of its own process so far: the gateway, and what started the Worker. */
  usage(): Usage {
    return usageOf(this.#child.pid ?? 0);
  }

  /** Kills it with SIGKILL and waits until nothing of it is left. */
  async kill(victim: KillTarget): Promise<void> {
    const workerd = childrenOf(this.#child.pid ?? 0).find((pid) => nameOf(pid) === "workerd");
    if (workerd === undefined) throw new Error("the server runs without workerd");
    if (victim !== "serve") process.kill(workerd, "SIGKILL");
    if (victim !== "workerd") this.#child.kill("SIGKILL");
    await this.#ended;
    while (nameOf(workerd) === "workerd") await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Asks it to end. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** The name of a running program; "" when it has ended. */
function nameOf(pid: number): string {
  try {
    const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    return state === "Z" ? "" : (name ?? "");
  } catch {
    return "";
  }
}
