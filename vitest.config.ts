import "./test/support/data-in-memory.ts";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { buildSync } from "esbuild";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { unstable_readConfig } from "wrangler";
import { NATIVE_MODULES, sourcesAsOneModule } from "./test/support/one-module.ts";
import { SideBySide } from "./test/support/side-by-side.ts";

// Scripts and servers that tests start are compiled once, not at each start: a fifth of the CPU time of a start.
process.env.NODE_COMPILE_CACHE ??= `${import.meta.dirname}/node_modules/.cache/compiled`;

/** The name of the Worker under test in a project. */
function workerOf(project: string): string {
  return `vitest-plugin-runner-${project}`;
}

const bundles = new Map<string, string>();

/** A Worker as one module, as Wrangler would bundle it for its author. */
function bundled(entry: string) {
  const contents = bundles.get(entry) ?? bundleOf(entry);
  bundles.set(entry, contents);
  return [{ type: "ESModule" as const, path: "index.mjs", contents }];
}

function bundleOf(entry: string): string {
  const built = buildSync({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    write: false,
  });
  return built.outputFiles[0]?.text ?? "";
}

/** Stands for the modules of the platform where they can't be loaded. */
const PLATFORM = new URL("test/support/platform.ts", import.meta.url).pathname;

const CONFIG = unstable_readConfig({ config: "wrangler.toml" });
const COMPATIBILITY_DATE = CONFIG.compatibility_date ?? "";

/** Settings of the Worker under test. */
const SETTINGS = {
  GROVE_SEAL_KEY: "1:c2VhbC1rZXktb2YtdGhlLXRlc3RzLTMyLWJ5dGVzISE=",
  POLICY_CACHE_SECONDS: "5",
};

/** Grove once more, in an isolate of its own before the same objects. */
function otherIsolate(project: string) {
  const objects: readonly { readonly name: string; readonly class_name: string }[] = CONFIG.durable_objects.bindings;
  return {
    name: "other-isolate",
    compatibilityDate: COMPATIBILITY_DATE,
    modules: bundled("test/support/other-isolate.ts"),
    bindings: SETTINGS,
    durableObjects: Object.fromEntries(
      objects.map(({ name, class_name: className }) => [name, { className, scriptName: workerOf(project) }]),
    ),
  };
}

/** The example of a Worker that trusts Grove's tokens, beside the Worker under test and bound to it. */
function secretEngine(project: string) {
  return {
    name: "secret-engine",
    compatibilityDate: COMPATIBILITY_DATE,
    modules: bundled("examples/secret-engine/index.ts"),
    serviceBindings: {
      GROVE: { name: workerOf(project), entrypoint: "TokenAuthority" },
      GROVE_LEASES: { name: workerOf(project), entrypoint: "LeaseAuthority" },
    },
    kvNamespaces: { ACCOUNTS: "accounts" },
  };
}

/** The example of an API that lets in the holders of Grove's tokens. */
function protectedApi(project: string) {
  return {
    name: "protected-api",
    compatibilityDate: COMPATIBILITY_DATE,
    modules: bundled("examples/protected-api/index.ts"),
    serviceBindings: { GROVE: { name: workerOf(project), entrypoint: "TokenAuthority" } },
  };
}

declare module "vitest" {
  interface ProvidedContext {
    /** Of the values that property tests draw. */
    seed: number;
  }
}

/**
 * The same in every run unless `SEED` says otherwise: `SEED=random npm run test:unit` draws other values. Every run prints
 * the number that draws its values again.
 */
function seedOfRun(): number {
  const { SEED = "20260801", SEED_OF_RUN } = process.env;
  // This file is read once more for each project.
  if (SEED_OF_RUN !== undefined) return Number(SEED_OF_RUN);
  const seed = SEED === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(SEED);
  if (!Number.isSafeInteger(seed)) throw new Error('SEED is a whole number or "random"');
  process.env.SEED_OF_RUN = String(seed);
  console.log(`SEED=${seed}`);
  return seed;
}

const SEED = seedOfRun();

/**
 * The settings of .dev.vars, each with the value that it has without that file. The pool reads the file as `wrangler dev` does, and
 * what a developer has set there must not change what is tested.
 */
function withoutDevVars(): Record<string, unknown> {
  if (!existsSync(".dev.vars")) return {};
  const names = Object.keys(parseEnv(readFileSync(".dev.vars", "utf8")));
  return Object.fromEntries(names.map((name) => [name, CONFIG.vars[name] ?? ""]));
}

// This file is read once more for each project.
if (process.env.CONSOLE_OF_RUN === undefined) {
  // The Worker imports the built console.
  execFileSync(process.execPath, ["scripts/build-console.js"], { cwd: import.meta.dirname });
  // `npm run dev` of an end-to-end test makes .dev.vars where there is none: never while files of another project start.
  const env = { ...process.env, WRANGLER_COMMAND: "dev" };
  execFileSync(process.execPath, ["scripts/dev-vars.js"], { cwd: import.meta.dirname, env });
  process.env.CONSOLE_OF_RUN = "built";
}

/** Tests with a second isolate, which costs each file half a second of CPU time. */
const TWO_ISOLATES = "test/workers/two-isolates/*.test.ts";

/** A project of tests in the Workers runtime. @param other a Worker besides those of the examples; its files share no runtime. */
function inWorkers(
  name: string,
  files: { readonly include?: string[]; readonly exclude?: string[] },
  other?: typeof otherIsolate,
): TestProjectInlineConfiguration {
  return {
    extends: true,
    plugins: [
      sourcesAsOneModule(import.meta.dirname, SEED),
      // At the start of a runtime: this file is read once more for each project, and bundles nothing then.
      cloudflareTest(() => ({
        wrangler: { configPath: "./wrangler.toml" },
        miniflare: {
          modulesRules: NATIVE_MODULES,
          bindings: {
            ...withoutDevVars(),
            ...SETTINGS,
            LEASE_SERVICES: "SECRET_ENGINE",
          },
          serviceBindings: {
            SECRET_ENGINE: { name: "secret-engine", entrypoint: "Revocations" },
            SECRET_ENGINE_SITE: "secret-engine",
            PROTECTED_API: "protected-api",
            ...(other && { OTHER_ISOLATE: "other-isolate" }),
          },
          kvNamespaces: { ACCOUNTS: "accounts" },
          r2Buckets: { BACKUPS: "backups" },
          workers: [secretEngine(name), protectedApi(name), ...(other ? [other(name)] : [])],
        },
      })),
    ],
    test: {
      setupFiles: ["./test/support/workers-setup.ts"],
      name,
      include: ["test/workers/**/*.test.ts"],
      ...files,
      isolate: other !== undefined,
      sequence: { groupOrder: 1 },
    },
  };
}

export default defineConfig({
  test: {
    // Every request writes an audit line; only a failing test's are worth reading.
    silent: "passed-only",
    // A spy of one test is gone before the next. One that a whole file needs is made by `beforeEach`.
    restoreMocks: true,
    // No test is about time: the limit only ends what hangs, also on a slow machine that does other things beside. It is longer
    // than the start of a server may take, which has a limit and a message of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 90_000 } },
    // Where there are two cores. A file of the slow projects waits for its objects, servers and pages, and for the runner, much of
    // the time: those projects are one group (`groupOrder`), of which six files run at once.
    maxWorkers: 6,
    sequence: { sequencer: SideBySide },
    projects: [
      {
        extends: true,
        // The table of routes names the classes of objects, which only the platform can run.
        resolve: { alias: { "cloudflare:workers": PLATFORM, "cloudflare:sockets": PLATFORM } },
        test: {
          provide: { seed: SEED },
          setupFiles: ["./test/support/seed.ts"],
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          // The files share threads and loaded modules: a process and an import of the sources for each is half of the CPU time.
          pool: "threads",
          isolate: false,
          // Vitest leaves a core to itself: where there are two cores, one thread would run all files.
          maxWorkers: 2,
        },
      },
      inWorkers("workers", { exclude: [TWO_ISOLATES] }),
      inWorkers("two-isolates", { include: [TWO_ISOLATES] }, otherIsolate),
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: "test/e2e/support/build-once.ts",
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
