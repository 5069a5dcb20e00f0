import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONSOLE_LIBRARIES } from "../../scripts/package/sbom.ts";
import { CLIENT_PACKAGE, SERVER_PACKAGE } from "../../scripts/package/write-package.ts";
import { freePort } from "../support/free-port.ts";
import { brokenLinks, pagesBelow } from "../support/links.ts";
import { copyProject } from "./support/copied-project.ts";
import { call, PROJECT } from "./support/server.ts";

const ROOT = mkdtempSync(join(tmpdir(), "grove-packages-"));
/** The folder of the installation, which `grove new` makes. */
const INSTALLATION = join(ROOT, "my-grove");
const MODULES = join(ROOT, "node_modules");
const BINARY = join(MODULES, SERVER_PACKAGE, "bin/grove.js");

/** What npm would install beside the packages. */
const DEPENDENCIES = ["wrangler", "workerd", "hono"];

const WORKERD = JSON.parse(readFileSync(join(PROJECT, "node_modules/workerd/package.json"), "utf8"));

/** As in a shell that npm did not start: programs name themselves as they were called. */
const { npm_lifecycle_event: _, ...ENVIRONMENT } = process.env;

let packages: string;
let archive: string;
let project: string;

beforeAll(() => {
  project = copyProject();
  for (const name of [
    "client",
    "docs",
    "examples",
    "ops",
    "LICENSE",
    "CHANGELOG.md",
    "SECURITY.md",
    "package-lock.json",
    ".npmrc",
  ]) {
    cpSync(join(PROJECT, name), join(project, name), { recursive: true });
  }
  execFileSync(process.execPath, [join(project, "scripts/pack.ts")], { stdio: "pipe" });
  packages = join(project, "dist/packages");
  for (const name of [SERVER_PACKAGE, CLIENT_PACKAGE]) {
    const directory = join(MODULES, name);
    mkdirSync(directory, { recursive: true });
    const tarball = readdirSync(packages).find((file) => file.startsWith(name.replace("@", "").replace("/", "-")));
    if (name === SERVER_PACKAGE) archive = tarball ?? "";
    execFileSync("tar", ["xzf", join(packages, tarball ?? ""), "-C", directory, "--strip-components=1"]);
  }
  for (const name of DEPENDENCIES) symlinkSync(join(PROJECT, "node_modules", name), join(MODULES, name));
  execFileSync(process.execPath, [BINARY, "new", INSTALLATION], { stdio: "pipe" });
});

afterAll(() => {
  for (const directory of [ROOT, project]) rmSync(directory, { recursive: true, force: true });
});

/** Runs the binary in the folder of the installation, as a shell does, to its end. */
function grove(...words: readonly string[]) {
  return spawnSync(process.execPath, [BINARY, ...words], {
    cwd: INSTALLATION,
    encoding: "utf8",
    env: ENVIRONMENT,
  });
}

describe("the package of the server", () => {
  it("makes a folder with the secrets apart from what belongs into git", () => {
    expect(readdirSync(INSTALLATION).sort()).toEqual([
      ...[".gitignore", "README.md", archive, "package.json", "secrets.env", "start.hcl", "wrangler.toml"],
    ]);
    expect(statSync(join(INSTALLATION, "secrets.env")).mode & 0o777).toBe(0o600);
    const ignored = readFileSync(join(INSTALLATION, ".gitignore"), "utf8").split("\n");
    expect(ignored).toEqual(expect.arrayContaining(["secrets.env", "backups/"]));
    const {
      scripts,
      overrides,
      dependencies: ours,
    } = JSON.parse(readFileSync(join(INSTALLATION, "package.json"), "utf8"));
    const { dependencies } = JSON.parse(readFileSync(join(MODULES, SERVER_PACKAGE, "package.json"), "utf8"));
    // No registry has the package.
    expect(ours).toEqual({ [SERVER_PACKAGE]: `file:${archive}` });
    // The Worker's compatibility date needs the engine that it is tested with, and one copy of the engine is enough.
    expect(dependencies.workerd).toBe(WORKERD.version);
    expect(overrides).toEqual({ wrangler: { workerd: ">=1" } });
    expect(scripts).toMatchObject({ serve: "grove serve", backup: "grove backup", grove: "grove" });
    expect(grove("new", INSTALLATION)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("nothing was changed"),
    });
    expect(grove("new", join(INSTALLATION, "package.json"))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is no empty folder"),
    });
  });

  it("has the documents, and every file that they lead to", () => {
    const installed = join(MODULES, SERVER_PACKAGE);
    const pages = pagesBelow(installed);
    expect(pages).toEqual(expect.arrayContaining(["docs/operations.md", "docs/decisions/README.md", "SECURITY.md"]));
    expect(brokenLinks(installed, pages)).toEqual([]);
    for (const page of pages) {
      const text = readFileSync(join(installed, page), "utf8");
      for (const [, file = ""] of text.matchAll(/node_modules\/@grove-tokens\/grove\/([\w./-]*\w)/g)) {
        expect([page, file, existsSync(join(installed, file))]).toEqual([page, file, true]);
      }
    }
  });

  it("has the script that verifies an archive of the audit store", () => {
    const words = [join(MODULES, SERVER_PACKAGE, "scripts/verify-audit-archive.js"), ROOT];
    expect(spawnSync(process.execPath, words, { encoding: "utf8" })).toMatchObject({
      status: 2,
      stdout: expect.stringContaining("no records and no head: this is no archive"),
    });
  });

  it("serves with the secrets of the folder, and its command asks that server", async () => {
    const port = await freePort();
    const child = spawn(process.execPath, [BINARY, "serve", "--listen", `127.0.0.1:${port}`], {
      cwd: INSTALLATION,
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      const address = `http://127.0.0.1:${port}`;
      let said = "";
      await new Promise<void>((resolve) => {
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          if (said.includes("Grove listens on")) resolve();
        });
      });
      const { GROVE_INIT_TOKEN = "" } = parseEnv(readFileSync(join(INSTALLATION, "secrets.env"), "utf8"));
      expect((await call({ address }, "PUT", "/v1/sys/init")).status).toBe(403);
      const init = await call({ address }, "PUT", "/v1/sys/init", { token: GROVE_INIT_TOKEN });
      const { root_token: rootToken } = init.body as { root_token: string };
      const env = { ...process.env, VAULT_ADDR: address, VAULT_TOKEN: rootToken };
      const listed = execFileSync(process.execPath, [BINARY, "tokens"], { env, encoding: "utf8" });
      expect(listed).toContain("root");
      // The start asked the server, which was not initialized yet.
      const { body } = await call({ address }, "GET", "/v1/sys/doctor", { token: rootToken });
      const { checks } = body.data as { readonly checks: readonly { readonly name: string; readonly seen: string }[] };
      expect(checks.find(({ name }) => name === "faults")?.seen).toMatch(/^0 answers 500 and 0 answers 503 /);
    } finally {
      child.kill("SIGTERM");
      await once(child, "close");
    }
  });

  describe("the restore of its README", () => {
    const data = join(INSTALLATION, ".grove/data");
    const backups = join(INSTALLATION, "backups");
    const readme = () => readFileSync(join(INSTALLATION, "README.md"), "utf8");
    const idIn = (directory: string) => readFileSync(join(directory, "installation-id"), "utf8");

    /** Runs the block as it stands there, with the binary in the place of npx; the server is not started. */
    function restore(): number | null {
      const [block = ""] = /^BACKUP=[\s\S]*?(?=^```$)/m.exec(readme()) ?? [];
      expect(block).toContain("npx grove serve");
      const npx = `npx() { [ "$2" = serve ] || "${process.execPath}" "${BINARY}" "\${@:2}"; }`;
      return spawnSync("bash", ["-c", `${npx}\n${block}`], { cwd: INSTALLATION, stdio: "pipe" }).status;
    }

    it("moves nothing without a copy, takes the newest one beside backups by address, and can be repeated", () => {
      const id = idIn(data);
      mkdirSync(join(backups, "parts"), { recursive: true });
      writeFileSync(join(backups, "grove-2099-11-22T03-30-00-412Z.json"), "{}");
      expect(restore()).not.toBe(0);
      expect(idIn(data)).toBe(id);
      const { status, stdout } = grove("backup", "--to", "backups");
      expect([status, stdout]).toEqual([0, expect.stringContaining("opened and whole")]);
      const copy = readdirSync(backups).find((name) => !name.endsWith(".json") && name !== "parts") ?? "";
      // The secrets of the folder are those of the server.
      expect(grove("backup", "--verify", join("backups", copy)).stdout).toContain("; GROVE_SEAL_KEY opens it");
      for (const broken of ["first", "second"]) {
        writeFileSync(join(data, "installation-id"), broken);
        expect(restore()).toBe(0);
        expect(idIn(data)).toBe(id);
      }
      const kept = readdirSync(join(INSTALLATION, ".grove")).filter((name) => name.startsWith("old."));
      expect(kept.map((name) => idIn(join(INSTALLATION, ".grove", name, "data"))).sort()).toEqual(["first", "second"]);
    });
  });

  it("has units of systemd that start its own programs", () => {
    const examples = join(MODULES, SERVER_PACKAGE, "examples");
    const starts = readdirSync(examples).flatMap((name) =>
      /\.(service|conf)$/.test(name)
        ? [...readFileSync(join(examples, name), "utf8").matchAll(/^ExecStart=(\/.*)$/gm)].map(
            ([, words = ""]) => words,
          )
        : [],
    );
    expect(starts).toHaveLength(3);
    for (const start of starts) {
      const [, node, ...words] = start.split(" ");
      expect(node).toBe("node");
      const { status, stdout } = spawnSync(process.execPath, [...words, "--help"], {
        cwd: ROOT,
        encoding: "utf8",
        env: ENVIRONMENT,
      });
      expect([start, status, stdout]).toEqual([start, 0, expect.stringMatching(/^Usage: (npx )?grove (serve|backup)/)]);
    }
    const page = readFileSync(join(MODULES, SERVER_PACKAGE, "docs/self-hosting.md"), "utf8");
    const [, block = ""] = /^useradd([\s\S]*?)^```$/m.exec(page) ?? [];
    expect(block).toContain(`cp node_modules/${SERVER_PACKAGE}/examples/grove.service /etc/`);
    expect(block).toContain(`./${archive} grove new /opt/grove && cd /opt/grove && npm install\n`);
  });

  it("says how to install what only a deployment needs", () => {
    rmSync(join(MODULES, "wrangler"));
    try {
      expect(grove("deploy", "--dry-run")).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/npm install wrangler@\d+\.\d+\.\d+/),
      });
    } finally {
      symlinkSync(join(PROJECT, "node_modules/wrangler"), join(MODULES, "wrangler"));
    }
  });

  it("deploys its own Worker with the settings of the folder", () => {
    const { status, stdout } = grove("deploy", "--dry-run");
    expect(stdout).toContain("env.TOKEN_TREE (TokenTree)");
    expect(stdout).toContain('env.GROVE_SEAL_KEY ("(hidden)")');
    expect(status).toBe(0);
  });
});

describe("the help of the package", () => {
  const commands = ["new", "serve", "deploy", "backup", "upgrade", "gateway", "tokens", "doctor", "restore"];

  it.each(commands)("of %s names what was called, and documents that are there", (command) => {
    const { status, stdout } = grove(command, "--help");
    expect(status).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: grove ${command}\\b`));
    expect(stdout).not.toContain("npm run");
    for (const [, page = ""] of stdout.matchAll(/node_modules\/(\S+?\.md)/g)) {
      expect(existsSync(join(MODULES, page))).toBe(true);
    }
  });
});

describe("the package of the client", () => {
  const directory = join(MODULES, CLIENT_PACKAGE);

  it("has three modules with their types, and nothing of the server", () => {
    const modules = readdirSync(directory).filter((name) => /\.(ts|js)$/.test(name));
    expect(modules.sort()).toEqual(["hono.d.ts", "hono.js", "index.d.ts", "index.js", "types.d.ts", "types.js"]);
  });

  it("compiles in a project that names it", () => {
    const example = join(ROOT, "api.ts");
    const source = readFileSync(join(PROJECT, "examples/protected-api/index.ts"), "utf8");
    execFileSync("tee", [example], { input: source.replaceAll('"grove/', `"${CLIENT_PACKAGE}/`), stdio: "pipe" });
    const words = ["--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2024"];
    const compiler = join(PROJECT, "node_modules/typescript/bin/tsc");
    const checked = spawnSync(process.execPath, [compiler, ...words, "--ignoreConfig", "--types", "", example], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(checked.stdout).toBe("");
  });
});

describe("what is packed", () => {
  it("has a list of its contents and a digest of each file", () => {
    const digests = readFileSync(join(packages, "SHA256SUMS"), "utf8").trim().split("\n");
    expect(digests).toHaveLength(readdirSync(packages).length - 1);
    expect(() => execFileSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: packages, stdio: "pipe" })).not.toThrow();
    const { components, metadata } = JSON.parse(readFileSync(join(packages, "sbom.cdx.json"), "utf8"));
    expect(metadata.component.name).toBe(SERVER_PACKAGE);
    const names = components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["hono", "wrangler", "workerd", ...CONSOLE_LIBRARIES]));
    expect(names).not.toContain("vitest");
  });

  it("names each library that the console is built with", () => {
    const sources = readdirSync(join(PROJECT, "console"), { recursive: true, encoding: "utf8" });
    const imported = sources
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) => [...readFileSync(join(PROJECT, "console", file), "utf8").matchAll(/ from "([a-z@][^"]*)"/g)])
      .map(([, name = ""]) => name.split("/")[0]);
    expect([...new Set(imported)].sort()).toEqual(CONSOLE_LIBRARIES);
  });
});
