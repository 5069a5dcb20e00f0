import { describe, expect, it } from "vitest";
import { deployedDefinition } from "../../../scripts/installation/deployed-definition.ts";

const RELEASE = {
  name: "grove",
  main: "src/index.ts",
  minify: true,
  build: { command: "build" },
  env: { staging: { name: "grove-staging" } },
  vars: { JURISDICTION: "", LOG_LEVEL: "info" },
  durable_objects: { bindings: [{ name: "TEAM", class_name: "Team" }] },
  migrations: [{ tag: "v1" }],
};

describe("what an installation is deployed by", () => {
  it("is the release with the settings of the installation on top", () => {
    const own = { name: "ours", vars: { JURISDICTION: "eu" }, routes: [{ pattern: "grove.example.com" }] };
    expect(deployedDefinition(RELEASE, own, "/built/index.js")).toEqual({
      ok: true,
      value: {
        name: "ours",
        main: "/built/index.js",
        no_bundle: true,
        vars: { JURISDICTION: "eu", LOG_LEVEL: "info" },
        durable_objects: RELEASE.durable_objects,
        migrations: RELEASE.migrations,
        routes: own.routes,
      },
    });
  });

  it("has bindings and variables in each environment of the installation", () => {
    const made = deployedDefinition(RELEASE, { env: { eu: { name: "ours-eu", vars: { JURISDICTION: "eu" } } } }, "m");
    expect(made).toMatchObject({
      value: {
        env: {
          eu: {
            name: "ours-eu",
            vars: { JURISDICTION: "eu", LOG_LEVEL: "info" },
            durable_objects: RELEASE.durable_objects,
          },
        },
      },
    });
  });

  it.each([
    [{ main: "own.ts" }, "main comes with the release"],
    [{ migrations: [] }, "migrations comes with the release"],
    [{ env: { eu: { durable_objects: {} } } }, "env.eu: durable_objects comes with the release"],
  ])("is refused with %j, which is of the release", (own, message) => {
    const made = deployedDefinition(RELEASE, own, "m");
    expect(made.ok ? "" : made.error).toContain(message);
  });
});
