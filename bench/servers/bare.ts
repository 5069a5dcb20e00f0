import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findWorkerd } from "../../scripts/local/workerd-program.ts";
import type { Measured } from "../case.ts";
import { NO_USAGE, usageOf } from "./serve.ts";

/** Each request creates an object with one table and one row: the lower bound for the cost of a new tree. */
const WORKER = `
import { DurableObject } from "cloudflare:workers";
export class Bare extends DurableObject {
  write(value) {
    this.ctx.storage.sql.exec("CREATE TABLE kept (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
    this.ctx.storage.sql.exec("INSERT INTO kept (value) VALUES (?)", value);
  }
}
export default {
  async fetch(request, { BARE }) {
    await BARE.get(BARE.newUniqueId()).write(await request.text());
    return Response.json({});
  },
};
`;

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "objects", disk = (path = "objects", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "BARE", durableObjectNamespace = "Bare")],
  durableObjectNamespaces = [(className = "Bare", uniqueKey = "bare", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);
`;

/** Starts the bare Worker on the project's workerd, without a gateway. */
export async function startBare(directory: string): Promise<Measured & { stop(): Promise<void> }> {
  const workerd = findWorkerd();
  if (!workerd.ok) throw new Error(workerd.error);
  mkdirSync(join(directory, "objects"), { recursive: true });
  writeFileSync(join(directory, "worker.js"), WORKER);
  writeFileSync(join(directory, "config.capnp"), CONFIG);
  const child = spawn(workerd.value, ["serve", "config.capnp", "--control-fd=3"], {
    cwd: directory,
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  const stop = (): void => void child.kill("SIGKILL");
  process.once("exit", stop);
  const ended = once(child, "exit");
  const control = child.stdio[3];
  if (!control || !("readable" in control)) throw new Error("workerd has no control pipe");
  // Example: {"event":"listen","socket":"http","port":41879}
  const [line] = await Promise.race([once(createInterface({ input: control }), "line"), ended]);
  const { port } = JSON.parse(String(line));
  return {
    url: `http://127.0.0.1:${port}`,
    token: "",
    usage: () => ({ worker: usageOf(child.pid ?? 0), gateway: NO_USAGE }),
    async stop() {
      process.off("exit", stop);
      stop();
      await ended;
    },
  };
}
