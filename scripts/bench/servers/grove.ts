import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readWorkerDefinition, settingsFromEnvironment } from "../../local/worker-definition.ts";
import { type BundleModule, buildWorker } from "../../serve/bundle.ts";
import { SELF_HOSTED, type WorkerModel, workerModel } from "../../serve/worker.ts";
import type { Place } from "../load/place.ts";
import { must } from "../must.ts";
import { type Access, call } from "./call.ts";
import type { Usage } from "./usage.ts";
import { WorkerdServer } from "./workerd.ts";

const COUNTING_MODULE = "counting.js";
const COUNTED_MODULE = "counted.js";

/** Grove, built as `npm run serve` builds it, with the secrets that all servers of one run share. */
export interface GroveBuild {
  readonly model: WorkerModel;
  readonly modules: readonly BundleModule[];
  readonly directory: string;
  readonly installationId: string;
  /** Settings of the Worker, the seal key among them. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Builds Grove below `directory`. */
export async function buildGrove(directory: string): Promise<GroveBuild> {
  const definition = must(await readWorkerDefinition());
  const settings = {
    ...settingsFromEnvironment(definition, process.env),
    ...SELF_HOSTED,
    GROVE_PRIVATE_HOSTS: "127.0.0.0/8",
    GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`,
  };
  const { modules } = must(await buildWorker(definition, join(directory, "worker"), join(directory, "wrangler")));
  return {
    model: must(workerModel(definition, Object.keys(settings))),
    modules,
    directory: join(directory, "worker"),
    installationId: randomBytes(16).toString("hex"),
    settings,
  };
}

/** The directory that holds a class's databases, below a server's `objects`. */
export function objectsOf(build: GroveBuild, directory: string, className: string): string {
  const known = build.model.classes.find((candidate) => candidate.className === className);
  if (!known) throw new Error(`wrangler.toml has no class ${className}`);
  return join(directory, "objects", `${known.origin}-${build.installationId}`);
}

/** A Grove server with data in a directory of its own. */
export class GroveServer implements Access {
  readonly place: Place;
  readonly directory: string;
  readonly #workerd: WorkerdServer;
  #token = "";

  private constructor(directory: string, workerd: WorkerdServer) {
    this.directory = directory;
    this.place = workerd.place;
    this.#workerd = workerd;
  }

  /** Starts a server on `directory`; initialises it when nothing is there yet. `counted`: with its objects' work counted. */
  static async start(build: GroveBuild, directory: string, { counted = false } = {}): Promise<GroveServer> {
    const objects = join(directory, "objects");
    mkdirSync(objects, { recursive: true, mode: 0o700 });
    for (const { name } of build.modules) cpSync(join(build.directory, name), join(directory, name));
    const modules = counted ? [...addCounting(build, directory), ...build.modules] : build.modules;
    const setup = { worker: build.model, modules, objects, installationId: build.installationId };
    // What is counted is what Cloudflare bills: there an object can be in another isolate than the Worker.
    const settings = counted ? { ...build.settings, ONE_PROCESS: "false" } : build.settings;
    const server = new GroveServer(directory, await WorkerdServer.start(directory, setup, settings));
    await server.#initialize();
    return server;
  }

  /** The path of the socket that it listens on. */
  get socket(): string {
    return join(this.directory, "worker.sock");
  }

  /** The root token. A secret, of a server that nobody keeps. */
  get token(): string {
    return this.#token;
  }

  /** Memory and CPU time so far. */
  usage(): Usage {
    return this.#workerd.usage();
  }

  /** Ends it; what it has answered is on disk, and listed. */
  async stop(): Promise<void> {
    // Trees tell the lists once a second, and a list is told everything first. One that has ended answers nothing.
    await call(this, "GET", "auth/token/accessors?list=true&limit=1").catch(() => {});
    await this.#workerd.stop();
  }

  /** Ends it in the middle of whatever it does. */
  kill(): Promise<void> {
    return this.#workerd.kill();
  }

  /** The root token is kept beside the data: a copy of the directory is a server that can be used. */
  async #initialize(): Promise<void> {
    const kept = join(this.directory, "root-token");
    const { status, body } = await call(this, "PUT", "sys/init");
    if (status === 200) writeFileSync(kept, body?.root_token ?? "", { mode: 0o600 });
    this.#token = readFileSync(kept, "utf8");
  }
}

/** A main module in front of Grove's own that counts what the objects do. `GET /bench/counts` gives the counts, `DELETE` resets them. */
function addCounting(build: GroveBuild, directory: string): BundleModule[] {
  cpSync(join(import.meta.dirname, COUNTING_MODULE), join(directory, COUNTING_MODULE));
  const classes = build.model.classes.map(({ className }) => {
    return `export const ${className} = counted(grove.${className});`;
  });
  const main = `import worker, * as grove from "./${build.modules[0]?.name}";
import { counted, readCounts, resetCounts } from "./${COUNTING_MODULE}";
${classes.join("\n")}
export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/bench/counts") {
      if (request.method === "DELETE") resetCounts();
      return Response.json(readCounts());
    }
    return worker.fetch(request, env, ctx);
  },
};
`;
  writeFileSync(join(directory, COUNTED_MODULE), main);
  return [COUNTED_MODULE, COUNTING_MODULE].map((name) => ({ name, kind: "esModule" }));
}
