import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/** The example of a Worker that trusts Grove's tokens, beside the Worker under test and bound to it. */
function secretEngine() {
  const source = readFileSync("examples/secret-engine/index.ts", "utf8");
  return {
    name: "secret-engine",
    compatibilityDate: "2026-08-20",
    modules: [{ type: "ESModule" as const, path: "index.mjs", contents: stripTypeScriptTypes(source) }],
    serviceBindings: {
      GROVE: { name: "vitest-pool-workers-runner-workers", entrypoint: "TokenAuthority" },
      GROVE_LEASES: { name: "vitest-pool-workers-runner-workers", entrypoint: "LeaseAuthority" },
    },
    kvNamespaces: { ACCOUNTS: "accounts" },
  };
}

export default defineConfig({
  test: {
    // Every request writes an audit line; only a failing test's are worth reading.
    silent: "passed-only",
    // No test is about time: the limit only ends what hangs, also on a slow machine that does other things beside.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      {
        extends: true,
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: {
                GROVE_SEAL_KEY: "1:c2VhbC1rZXktb2YtdGhlLXRlc3RzLTMyLWJ5dGVzISE=",
                POLICY_CACHE_SECONDS: "5",
                LEASE_SERVICES: "SECRET_ENGINE",
              },
              serviceBindings: {
                SECRET_ENGINE: { name: "secret-engine", entrypoint: "Revocations" },
                SECRET_ENGINE_SITE: "secret-engine",
              },
              kvNamespaces: { ACCOUNTS: "accounts" },
              workers: [secretEngine()],
            },
          }),
        ],
        test: { name: "workers", include: ["test/workers/**/*.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
