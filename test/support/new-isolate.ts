import { DurableObject, env } from "cloudflare:workers";
import { all, wrappers } from "grove:sources";
import { vi } from "vitest";
import { objectsAskOnce } from "./objects-ask-once.ts";

/**
 * Makes the isolate as new for a test file. A runtime takes a second of CPU time to start, so the files of a project follow each
 * other in few (`isolate: false`): each with the sources evaluated anew, bindings and globals as they were, and no object stored.
 */
declare const __vitest_mocker__: {
  readonly moduleRunner: { import(specifier: string): Promise<unknown> };
};

const runner = __vitest_mocker__.moduleRunner;

/** What setup files and tests replace, where it is. */
const REPLACED: readonly (readonly [target: object, names: readonly string[]])[] = [
  [globalThis, ["fetch"]],
  [scheduler, ["wait"]],
  [console, ["debug", "error", "info", "log", "warn"]],
];

/** A timer of an earlier file does nothing: its sources would call the objects of this file, with keys of its own installation. */
function endTimersWithTheirFile(): void {
  const { setTimeout: set } = globalThis;
  const wait = scheduler.wait.bind(scheduler);
  const isOf = (file: number | undefined) => global.groveKept?.files === file;
  globalThis.setTimeout = ((work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const file = global.groveKept?.files;
    return set(() => (isOf(file) ? work(...args) : undefined), ms);
  }) as typeof setTimeout;
  scheduler.wait = async (ms, options) => {
    const file = global.groveKept?.files;
    await wait(ms, options);
    if (!isOf(file)) await new Promise(() => {});
  };
}

/** What stays from file to file. */
interface Kept {
  /** Test files until now. */
  files: number;
  readonly load: typeof runner.import;
  readonly bindings: Readonly<Record<string, unknown>>;
  readonly replaced: readonly (() => void)[];
  /** The objects of this file, by id. */
  readonly objects: Map<string, () => DurableObjectStub>;
  /** Deletes the objects that run; what others stored stays. */
  readonly reset: () => Promise<void>;
}

const global = globalThis as { groveKept?: Kept; groveSources?: unknown };

/** In the place of every class of objects between two files. */
class Absent extends DurableObject {
  override async fetch(): Promise<Response> {
    await this.ctx.storage.deleteAlarm();
    return new Response();
  }

  override alarm(): void {}
}

const load = global.groveKept?.load ?? runner.import;

if (global.groveKept !== undefined) {
  const { bindings, replaced, objects, reset } = global.groveKept;
  vi.useRealTimers();
  vi.unstubAllGlobals();
  for (const restore of replaced) restore();
  // Until the sources are there, no import may evaluate those of the previous file again.
  runner.import = async () => new Proxy({}, { get: (_, name) => (name === "then" ? undefined : Absent) });
  await reset();
  // What crashed or was evicted starts once more, to be deleted with those that run.
  await Promise.allSettled([...objects.values()].map((stub) => stub().fetch("http://grove.test")));
  objects.clear();
  for (const name of Object.keys(env)) if (!(name in bindings)) Reflect.deleteProperty(env, name);
  Object.assign(env, bindings);
}

// A module of another name, though it is the same file: the runtime evaluates each name once.
const place = all[global.groveKept?.files ?? 0];
if (place === undefined) throw new Error("more test files in one isolate than modules with the sources");
const bindings = { ...env };
global.groveSources = await load.call(runner, place);
vi.resetModules();
runner.import = load;

if (global.groveKept === undefined) {
  const { reset } = await import("cloudflare:test");
  const objects = new Map<string, () => DurableObjectStub>();
  watchObjects(objects);
  endTimersWithTheirFile();
  objectsAskOnce((await load.call(runner, wrappers)) as Readonly<Record<string, { readonly prototype: object }>>);
  const replaced = REPLACED.flatMap(([target, names]) =>
    names.map((name) => {
      const value: unknown = Reflect.get(target, name);
      return () => void Reflect.set(target, name, value);
    }),
  );
  global.groveKept = { files: 0, load, bindings, replaced, objects, reset };
} else {
  // Also what began since the objects were deleted: by now the calls of the file before have ended.
  await global.groveKept.reset();
}
global.groveKept.files++;

/** Notes every object to which a stub is made. */
function watchObjects(objects: Map<string, () => DurableObjectStub>): void {
  const namespaces = Object.values(env).filter((value) => value?.constructor?.name === "DurableObjectNamespace");
  const prototype = Object.getPrototypeOf(namespaces[0]) as DurableObjectNamespace;
  const { get, getByName } = prototype;
  const noted = (namespace: DurableObjectNamespace, stub: DurableObjectStub): DurableObjectStub => {
    const { id } = stub;
    objects.set(id.toString(), () => get.call(namespace, id));
    return stub;
  };
  prototype.get = function (...args) {
    return noted(this, get.apply(this, args));
  };
  prototype.getByName = function (...args) {
    return noted(this, getByName.apply(this, args));
  };
}
