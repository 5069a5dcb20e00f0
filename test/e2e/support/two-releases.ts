import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { Child, followErrors } from "../../../scripts/local/child.ts";
import { findWorkerd } from "../../../scripts/local/workerd-program.ts";
import { MODULE, placeWorker } from "../../../scripts/serve/built-worker.ts";
import { type Definition, workerModel } from "../../../scripts/serve/worker-model.ts";

/** A built Worker. */
interface Build {
  readonly definition: Definition;
  /** Names of files, the main one first. */
  readonly modules: readonly { readonly name: string; readonly kind: string }[];
}

/** The built Worker of a release, as it is stored. */
interface StoredRelease {
  readonly build: Build;
  /** Contents of the modules in base64, by name. */
  readonly contents: Readonly<Record<string, string>>;
}

/** Stores the Worker of these sources as that of a release. */
export async function packRelease(directory: string, archive: string): Promise<void> {
  const build = await buildHere(directory);
  const contents: Record<string, string> = {};
  for (const { name } of build.modules) contents[name] = (await readFile(join(directory, name))).toString("base64");
  const stored: StoredRelease = { build, contents };
  await writeFile(archive, gzipSync(JSON.stringify(stored), { level: 9 }));
}

/** Writes the modules of a stored release into a directory. */
export async function unpackRelease(archive: string, directory: string): Promise<Build> {
  const { build, contents } = JSON.parse(gunzipSync(await readFile(archive)).toString()) as StoredRelease;
  await mkdir(directory);
  for (const { name } of build.modules) {
    await writeFile(join(directory, name), Buffer.from(contents[name] ?? "", "base64"));
  }
  return build;
}

/** Builds the Worker of these sources into a directory. */
export async function buildHere(directory: string): Promise<Build> {
  const definition = await placeWorker(directory);
  if (!definition.ok) throw new Error(definition.error);
  return { definition: definition.value, modules: [{ name: MODULE, kind: "esModule" }] };
}

/** A Worker in a directory below that of the configuration. */
export interface PlacedBuild {
  readonly build: Build;
  /** Name of the directory. */
  readonly at: string;
}

/**
 * Starts workerd as the network is for some minutes after a deployment: requests go to one release of the Worker, and all objects run
 * another one. Objects of classes that this one lacks run the release of the Worker: the network has no other code for them.
 *
 * @param directory where the two Workers are; gets the configuration and the data
 * @param variables of both; the settings of a single process are not among them
 */
export async function startMixed(
  directory: string,
  worker: PlacedBuild,
  objects: PlacedBuild,
  variables: Readonly<Record<string, string>>,
  port: number,
): Promise<Child> {
  const text = JSON.stringify;
  const { classes } = modelOf(objects.build);
  const added = modelOf(worker.build).classes.filter(
    ({ className }) => !classes.some((known) => known.className === className),
  );
  const serviceOf = (className: string) => (added.some((one) => one.className === className) ? "requests" : "objects");
  const bindings = (build: Build) =>
    modelOf(build).bindings.flatMap((binding) => {
      if (binding.kind !== "objects") return [];
      const { name, className } = binding;
      return `(name = ${text(name)}, durableObjectNamespace = (className = ${text(className)}, serviceName = ${text(serviceOf(className))}))`;
    });
  const settings = (build: Build) =>
    Object.entries({ ...build.definition.vars, ...variables }).map(
      ([name, value]) => `(name = ${text(name)}, text = ${text(String(value))})`,
    );
  const program = ({ build, at }: PlacedBuild, further: string) => `(
    modules = [${build.modules.map((module) => embedded(module, at)).join(", ")}],
    compatibilityDate = ${text(modelOf(build).compatibilityDate)},
    bindings = [${[...bindings(build), ...settings(build)].join(", ")}]${further}
  )`;
  const hosting = (hosted: typeof classes) => {
    const namespaces = hosted.map(
      ({ className, sqlite }) =>
        `(className = ${text(className)}, uniqueKey = ${text(className)}, enableSql = ${sqlite})`,
    );
    if (namespaces.length === 0) return "";
    return `, durableObjectNamespaces = [${namespaces.join(", ")}], durableObjectStorage = (localDisk = "disk")`;
  };
  const disk = join(directory, "data");
  await mkdir(disk, { recursive: true });
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "requests", worker = ${program(worker, hosting(added))}),
    (name = "objects", worker = ${program(objects, hosting(classes))}),
    (name = "disk", disk = (path = ${text(disk)}, writable = true)),
    (name = "internet", network = (allow = ["public", "127.0.0.1/32"], tlsOptions = (trustBrowserCas = true)))
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "requests")]
);
`;
  await writeFile(join(directory, "config.capnp"), config);
  const workerd = findWorkerd();
  if (!workerd.ok) throw new Error(workerd.error);
  const args = ["serve", join(directory, "config.capnp"), "config"];
  const child = new Child({ command: workerd.value, args, env: process.env, output: "errors" });
  followErrors(child, console.error);
  return child;
}

function modelOf({ definition }: Build) {
  const model = workerModel(definition, []);
  if (!model.ok) throw new Error(model.error);
  return model.value;
}

function embedded({ name, kind }: Build["modules"][number], at: string): string {
  return `(name = ${JSON.stringify(name)}, ${kind} = embed ${JSON.stringify(`${at}/${name}`)})`;
}
