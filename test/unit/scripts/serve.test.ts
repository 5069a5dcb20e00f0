import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseServeArguments } from "../../../scripts/serve/arguments.ts";
import { readTrustedCas } from "../../../scripts/serve/trusted-cas.ts";
import { objectClasses, workerModel } from "../../../scripts/serve/worker-model.ts";
import { workerdConfig } from "../../../scripts/serve/workerd-config.ts";

const DEFINITION = {
  name: "grove",
  compatibility_date: "2026-08-20",
  compatibility_flags: ["a_flag"],
  vars: { PLAIN: "text", LIMITS: { a: 1 } },
  durable_objects: { bindings: [{ name: "TREES", class_name: "Tree" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["Tree"] }],
  services: [{ binding: "LOOKUP", service: "grove", entrypoint: "TokenLookup" }],
};

/** Starts a server that ends at once, with these settings. `makeData` prepares its directory. */
function serve(settings: NodeJS.ProcessEnv, makeData = (_: string): void => {}) {
  const data = mkdtempSync(join(tmpdir(), "grove-serve-"));
  onTestFinished(() => rmSync(data, { recursive: true }));
  makeData(data);
  const words = [join(import.meta.dirname, "../../../scripts/serve.ts"), "--data", data, "--listen", "127.0.0.1:0"];
  const env = { ...process.env, ...settings };
  return spawnSync(process.execPath, words, { encoding: "utf8", env, timeout: 20_000 });
}

it("serve ends without a seal key, and says which one it needs", () => {
  for (const settings of [{ GROVE_SEAL_KEY: undefined }, { GROVE_SEAL_KEY: "" }]) {
    const { status, stderr } = serve(settings);
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining("GROVE_SEAL_KEY is not set: new data need a new key"),
    ]);
  }
  const ofData = serve({ GROVE_SEAL_KEY: "" }, (data) => writeFileSync(join(data, "installation-id"), "0a"));
  expect([ofData.status, ofData.stderr]).toEqual([1, expect.stringContaining("set the key of these data")]);
});

it.each(["GROVE_SEAL_KEY", "GROVE_SEAL_KEY_PREVIOUS"])("serve ends when %s is no key", (name) => {
  const key = `1:${Buffer.alloc(32).toString("base64")}`;
  const { status, stderr } = serve({ GROVE_SEAL_KEY: key, [name]: "1:bm8ga2V5" });
  expect(status).toBe(1);
  expect(stderr).toContain(`serve: ${name} must be <version>:<base64 of 32 bytes>`);
  expect(stderr).not.toContain("bm8ga2V5");
});

describe("objectClasses", () => {
  it("applies the migrations in order, and keeps the data of a renamed class with it and with it alone", () => {
    const classes = objectClasses([
      { tag: "v1", new_sqlite_classes: ["Tree", "Gone"], new_classes: ["Old"] },
      { tag: "v2", renamed_classes: [{ from: "Tree", to: "TokenTree" }], deleted_classes: ["Gone"] },
      { tag: "v3", new_sqlite_classes: ["Tree"] },
    ]);
    expect(classes).toEqual([
      { className: "Old", origin: "Old", sqlite: false },
      { className: "TokenTree", origin: "Tree", sqlite: true },
      { className: "Tree", origin: "Tree-v3", sqlite: true },
    ]);
  });
});

describe("workerModel", () => {
  it("translates objects, entrypoints and variables", () => {
    expect(workerModel(DEFINITION, [])).toEqual({
      ok: true,
      value: {
        compatibilityDate: "2026-08-20",
        compatibilityFlags: ["a_flag"],
        classes: [{ className: "Tree", origin: "Tree", sqlite: true }],
        bindings: [
          { kind: "objects", name: "TREES", className: "Tree" },
          { kind: "self", name: "LOOKUP", entrypoint: "TokenLookup" },
          { kind: "text", name: "PLAIN", value: "text" },
          { kind: "json", name: "LIMITS", value: '{"a":1}' },
        ],
        leftOut: [],
      },
    });
  });

  it("lets the environment override variables, and add others", () => {
    const model = workerModel(DEFINITION, ["PLAIN", "GROVE_SEAL_KEY"]);
    expect(model.ok && model.value.bindings.slice(2)).toEqual([
      { kind: "json", name: "LIMITS", value: '{"a":1}' },
      { kind: "environment", name: "PLAIN" },
      { kind: "environment", name: "GROVE_SEAL_KEY" },
    ]);
  });

  it("names the bindings that exist only on the network", () => {
    const model = workerModel(
      { ...DEFINITION, ratelimits: [{ name: "x", binding: "LOGIN_LIMIT" }] } as typeof DEFINITION,
      [],
    );
    expect(model.ok && model.value.leftOut).toEqual(["LOGIN_LIMIT"]);
  });

  it.each([
    ["a class without a migration", { migrations: [] }, "Tree"],
    [
      "a class of another Worker",
      { durable_objects: { bindings: [{ name: "X", class_name: "Y", script_name: "other" }] } },
      "other",
    ],
    ["another Worker", { services: [{ binding: "X", service: "other" }] }, "other"],
    ["no date", { compatibility_date: undefined }, "compatibility_date"],
  ])("refuses %s", (_, change, named) => {
    const model = workerModel({ ...DEFINITION, ...change }, []);
    expect(model).toMatchObject({ ok: false, error: expect.stringContaining(named) });
  });
});

describe("workerdConfig", () => {
  const model = workerModel(DEFINITION, ["GROVE_SEAL_KEY"]);
  if (!model.ok) throw new Error(model.error);
  const setup = {
    worker: {
      ...model.value,
      bindings: [...model.value.bindings, { kind: "text", name: "ODD", value: 'a"b\\c\n\x85é' } as const],
    },
    objects: "/data/objects",
    socket: "/data/worker.sock",
    cronSocket: "/data/cron.sock",
    installationId: "c0ffee",
    privateHosts: [],
    trustedCas: [],
    metadataServices: false,
  };

  it("keeps class data by the class's first name and this installation's secret", () => {
    expect(workerdConfig(setup)).toContain('(className = "Tree", uniqueKey = "Tree-c0ffee", enableSql = true)');
  });

  it("lets the Worker call public addresses only, by default", () => {
    expect(workerdConfig(setup)).not.toContain('"private"');
    const listed = workerdConfig({ ...setup, privateHosts: ["10.1.2.3/32"] });
    expect(listed).toContain('"10.1.2.3/32"');
    expect(listed).not.toContain('"private"');
    expect(workerdConfig(setup)).not.toContain("169.254.169.254");
    const onMachine = workerdConfig({ ...setup, metadataServices: true });
    expect(onMachine).toContain('"169.254.169.254/32"');
    expect(onMachine).not.toContain('"private"');
  });

  it("has connections checked against the certificates that the operator names, besides public ones", () => {
    expect(workerdConfig(setup)).toContain("tlsOptions = (trustBrowserCas = true))");
    const config = workerdConfig({ ...setup, trustedCas: ["-----BEGIN CERTIFICATE-----\nAAAA\n"] });
    expect(config).toContain("trustBrowserCas = true, trustedCertificates = [");
    expect(config).toContain('"-----BEGIN CERTIFICATE-----\\x0aAAAA\\x0a"');
  });

  it("reads the certificates from a file, and refuses what has none", () => {
    expect(readTrustedCas("")).toEqual({ ok: true, value: [] });
    for (const path of ["package.json", "/does/not/exist", "src"]) {
      expect(readTrustedCas(path)).toEqual({ ok: false, error: expect.stringContaining("--trust-ca") });
    }
  });

  it("names secrets and never holds them", () => {
    expect(workerdConfig(setup)).toContain('(name = "GROVE_SEAL_KEY", fromEnvironment = "GROVE_SEAL_KEY")');
  });

  it("removes on the port past the gateway what only the gateway may set", () => {
    expect(workerdConfig(setup)).not.toContain("injectRequestHeaders");
    const config = workerdConfig({ ...setup, direct: { host: "::1", port: 8300 } });
    expect(config).toContain('address = "[::1]:8300"');
    expect(config).toContain('(name = "X-Grove-Client-Address")');
  });

  it("escapes what would end a text", () => {
    expect(workerdConfig(setup)).toContain('text = "a\\"b\\\\c\\x0a\\xc2\\x85é"');
  });
});

describe("the command line of serve", () => {
  it("reads private hosts: connections go by blocks, URLs by the whole list", () => {
    const list = "10.0.0.5, 192.168.0.0/16,fd00::1, ec2.internal";
    const privateHosts = { text: list, blocks: ["10.0.0.5/32", "192.168.0.0/16", "fd00::1/128"] };
    expect(parseServeArguments(["--allow-private-host", list])).toMatchObject({ ok: true, value: { privateHosts } });
  });

  it("has defaults", () => {
    expect(parseServeArguments([])).toMatchObject({
      ok: true,
      value: {
        listen: { host: "127.0.0.1", port: 8200 },
        data: ".grove/data",
        privateHosts: { text: "", blocks: [] },
        trustCa: "",
      },
    });
  });

  it.each([
    [["--listen", "8200"], "--listen"],
    [["--data="], "--data"],
    [["--trust-proxy", "10.0.0.0/99"], "--trust-proxy"],
    [["--allow-private"], "--allow-private"],
    [["--allow-private-network"], "--allow-private-network"],
    [["--allow-private-host", "http://10.0.0.1"], "--allow-private-host"],
    [["--allow-private-host", "10.0.0.0/33"], "--allow-private-host"],
    [["--direct", "0"], "--direct"],
    [["--direct", "127.0.0.1:8300"], "--direct"],
    [["--direct", "8200"], "--direct"],
    [["--client-share", "half"], "--client-share"],
  ])("says what is wrong with %j", (flags, named) => {
    expect(parseServeArguments(flags)).toMatchObject({ ok: false, error: expect.stringContaining(named) });
  });
});
