import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange } from "../../scripts/local/wait-until-answers.ts";
import { ALLOWS_ISSUER, type DeclaredIssuer, startDeclaredIssuer } from "./support/declared-issuer.ts";
import { call, killWhole, type Program, runScript, type ServerOptions, startServe, wordsOf } from "./support/server.ts";

const ROOT = mkdtempSync(join(tmpdir(), "grove-declared-"));
const FILE = join(ROOT, "start.hcl");
const DATA = join(ROOT, "data");
/** Without GROVE_DEV_ROOT_TOKEN, which other tests start with, and without an init token. */
const SECRETS = { GROVE_SEAL_KEY: `1:${randomBytes(32).toString("base64")}`, GROVE_DEV_ROOT_TOKEN: "" };

let issuer: DeclaredIssuer;

beforeAll(async () => {
  issuer = await startDeclaredIssuer();
  mkdirSync(DATA, { mode: 0o700 });
  issuer.writeExample(FILE);
});

afterAll(() => {
  issuer.close();
  rmSync(ROOT, { recursive: true, force: true });
});

function options(file: string | null, data = DATA): ServerOptions {
  const init = file === null ? [] : ["--init", file];
  return { data, env: SECRETS, flags: [...ALLOWS_ISSUER, ...init] };
}

interface Login {
  readonly client_token: string;
  readonly accessor: string;
  readonly policies: readonly string[];
}

/** Runs the operators' command to its end. */
async function grove(server: { readonly address: string }, token: string, ...words: readonly string[]) {
  const env = { ...process.env, VAULT_ADDR: server.address, VAULT_TOKEN: token };
  const child = spawn(process.execPath, [...wordsOf("grove"), ...words], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let written = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => {
      written += text;
    });
  const [code] = await once(child, "close");
  return { code, written };
}

function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** In order: one installation goes through it. */
describe("serve --init", () => {
  it("that is killed in the middle serves nobody, and is completed by the next start with the file", async () => {
    // A request of the file waits for its issuer.
    const asked = issuer.hold();
    const { data = "", flags = [] } = options(FILE);
    const killed: Program = runScript("serve", ["--listen=127.0.0.1:0", "--data", data, ...flags], SECRETS);
    await Promise.race([asked, killed.exited.then(() => expect.fail(killed.output()))]);
    const socket = { kind: "socket", path: join(DATA, "worker.sock") } as const;
    const past = await exchange(
      socket,
      { method: "POST", path: "/v1/auth/github/login", headers: [], body: { jwt: "x" } },
      60_000,
    );
    expect([past.status, past.text]).toEqual([503, expect.stringContaining("is not complete")]);
    expect(killed.output()).not.toContain("Grove listens on");
    await killWhole(killed);
    issuer.release();

    const without = await startServe(options(null));
    try {
      expect(without.output()).toContain("grove init FILE, or serve --init FILE, completes it");
      expect((await issuer.logIn(without)).status).toBe(503);
      expect((await call(without, "PUT", "/v1/sys/init")).status).toBe(400);
      expect((await call(without, "PUT", "/v1/sys/init/begin")).status).toBe(403);
    } finally {
      await without.stop();
    }
  });

  it("lets an administrator in by what the file declares, and leaves no root token anywhere", async () => {
    const server = await startServe(options(FILE));
    try {
      expect(server.output()).toContain("no root token is left");
      expect((await issuer.logIn(server, { environment: "other" })).status).toBe(400);
      const login = await issuer.logIn(server);
      const { client_token: token, accessor, policies } = login.body.auth as Login;
      expect(policies).toEqual(["administrators", "default"]);
      const { body } = await call(server, "LIST", "/v1/auth/token/accessors", { token });
      expect((body.data as { keys: string[] }).keys).toEqual([accessor]);
      const shown = await call(server, "GET", "/v1/sys/internal/ui/mounts");
      expect(shown.body.data).toMatchObject({ auth: { "github/": { type: "jwt" } } });
      const texts = [server.output(), ...filesBelow(DATA).map((file) => readFileSync(file, "latin1"))];
      expect(texts.filter((text) => /hvs\.[\w-]{60}|grove-setup\.[\w.-]{60}/.test(text))).toEqual([]);

      expect(await grove(server, token, "apply", FILE, "--check")).toMatchObject({ code: 0 });
    } finally {
      await server.stop();
    }
  });

  it("changes nothing of an installation that is initialized, also when the file is gone", async () => {
    const server = await startServe(options(join(ROOT, "gone.hcl")));
    try {
      expect(server.output()).toContain("is initialized already");
      expect((await issuer.logIn(server)).status).toBe(200);
    } finally {
      await server.stop();
    }
  });

  it("and sys/init make no new installation of data that have tokens, where the one of these is gone", async () => {
    // The tokens of the directory are those of the logins above.
    const data = join(ROOT, "lost");
    cpSync(DATA, data, { recursive: true });
    const objects = join(data, "objects");
    const remove = (start: string) => {
      for (const name of readdirSync(objects).filter((name) => name.startsWith(start)))
        for (const file of readdirSync(join(objects, name))) rmSync(join(objects, name, file));
    };
    remove("System-");
    const refused = "bring a backup back into an empty data directory";
    for (const _ of ["first", "again"]) {
      const program = runScript("serve", ["--listen=127.0.0.1:0", "--data", data, "--init", FILE], SECRETS);
      expect([await program.exited, program.output()]).toEqual([1, expect.stringContaining(refused)]);
    }
    const server = await startServe(options(null, data));
    try {
      expect(server.output()).toContain("do not initialize it, bring a backup back");
      const answer = await call(server, "PUT", "/v1/sys/init");
      expect([answer.status, String(answer.body.errors)]).toEqual([400, expect.stringContaining(refused)]);
    } finally {
      await server.stop();
    }
    rmSync(join(data, "installation-id"));
    const program = runScript("serve", ["--listen=127.0.0.1:0", "--data", data], SECRETS);
    expect([await program.exited, program.output()]).toEqual([1, expect.stringContaining("installation-id is gone")]);
  });

  it("writes the root token that the file keeps into a new file, and nowhere else", async () => {
    const file = join(ROOT, "kept.hcl");
    const data = join(ROOT, "kept");
    mkdirSync(data, { mode: 0o700 });
    const policy =
      'request "p" { operation = "create" path = "/sys/policies/acl/p" data { policy = "path \\"a\\" { capabilities = [\\"read\\"] }" } }';
    writeFileSync(file, `root_token_file = "root-token"\ninitialize "one" { ${policy} }`);
    const server = await startServe(options(file, data));
    try {
      const kept = join(ROOT, "root-token");
      const token = readFileSync(kept, "utf8").trim();
      expect(statSync(kept).mode & 0o777).toBe(0o600);
      expect((await call(server, "GET", "/v1/auth/token/lookup-self", { token })).body.data).toMatchObject({
        policies: ["root"],
      });
      expect(server.output()).not.toContain(token);
    } finally {
      await server.stop();
    }
  });

  it.each([
    [
      "a mistake, with its line",
      'initialize "a" {\n request "b" { operation = "read" path = "sys/policies/acl/p" } }',
      "bad.hcl:2: a.b: operation must be create or update",
    ],
    [
      "a file that would let nobody in",
      'initialize "a" { request "b" { operation = "update" path = "sys/quotas/rate-limit/q" data { rate = 9 } } }',
      "no client could log in",
    ],
    [
      "what the server refuses",
      `initialize "a" { request "m" { operation = "update" path = "sys/auth/x" data { type = "jwt" } }
        request "b" { operation = "update" path = "auth/x/role/r" data { role_type = "jwt" } } }`,
      "a.b (line 2), auth/x/role/r: 400:",
    ],
    [
      "what it knows that the server would refuse",
      'initialize "a" { request "b" { operation = "update" path = "sys/auth/x" data { type = "none" } } }',
      "a.b (line 1): type: the server has no such auth method",
    ],
  ])("says %s, and ends", async (_, text, said) => {
    const file = join(ROOT, "bad.hcl");
    const data = mkdtempSync(join(ROOT, "bad-"));
    writeFileSync(file, text);
    const program = runScript("serve", ["--listen=127.0.0.1:0", "--data", data, "--init", file], SECRETS);
    expect(await program.exited).toBe(1);
    expect(program.output()).toContain(said);
  });
});

describe("grove init and grove apply", () => {
  it("start a server that runs, and later show and write what differs, up to the first refusal", async () => {
    const init = randomBytes(12).toString("hex");
    const { data, ...others } = options(null, mkdtempSync(join(ROOT, "apply-")));
    const server = await startServe({
      ...others,
      ...(data !== undefined && { data }),
      env: { ...SECRETS, GROVE_INIT_TOKEN: init },
    });
    try {
      expect(await grove(server, "wrong", "init", FILE)).toMatchObject({
        code: 1,
        written: expect.stringContaining("GROVE_INIT_TOKEN"),
      });
      expect(await grove(server, init, "init", FILE)).toMatchObject({
        code: 0,
        written: expect.stringContaining("no root token is left"),
      });
      const { client_token: token } = (await issuer.logIn(server)).body.auth as Login;

      const changed = readFileSync(FILE, "utf8")
        .replace("rate = 20", "rate = 30")
        .replace('token_ttl      = "30m"', 'token_ttl = "40m"');
      const more =
        '\ninitialize "more" { request "bad" { operation = "update" path = "auth/none/role/r" data { token_ttl = 1 } } request "last" { operation = "update" path = "sys/policies/acl/last" data { policy = "path \\"a\\" { capabilities = [\\"read\\"] }" } } }';
      const file = join(ROOT, "changed.hcl");
      writeFileSync(file, changed + more);
      const check = await grove(server, token, "apply", file, "--check");
      expect(check).toMatchObject({
        code: 2,
        written: expect.stringContaining("2 to add, 2 to change, 6 as declared"),
      });
      expect(check.written).toContain("~ auth/github/role/administrators");
      expect(check.written).toContain('token_ttl: 1800 -> "40m"');
      // Nobody is there to be asked.
      expect(await grove(server, token, "apply", file)).toMatchObject({
        code: 1,
        written: expect.stringContaining("nothing was written"),
      });
      const stopped = await grove(server, token, "apply", file, "--yes");
      expect(stopped.code).toBe(1);
      expect(stopped.written).toContain("written before it: administrators.role, limits.logins; not tried: more.last");

      writeFileSync(file, (changed + more).replace("auth/none/role/r", "auth/approle/role/r"));
      expect((await grove(server, token, "apply", file, "--yes", "--json")).code).toBe(0);
      const { code, written } = await grove(server, token, "apply", file, "--check", "--json");
      expect([code, JSON.parse(written)]).toEqual([0, expect.objectContaining({ add: 0, change: 0, unchanged: 10 })]);
      const same = await grove(server, token, "apply", file, "--check");
      expect([same.code, same.written]).toEqual([
        0,
        expect.stringMatching(/last.*: no endpoint of Grove has the path a; only other services can ask about it/),
      ]);
    } finally {
      await server.stop();
    }
  });
});
