import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseGroveArguments } from "../../../../scripts/grove/arguments.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { COMMAND_NAMES, commandEntry } from "../../../../scripts/grove/command-table.ts";
import { failureText, whyNoAnswer } from "../../../../scripts/grove/connection-error.ts";
import { runGrove } from "../../../../scripts/grove/run-command.ts";
import type { Terminal } from "../../../../scripts/grove/terminal.ts";

const SCRIPTS = join(import.meta.dirname, "../../../../scripts");
const TLS = join(import.meta.dirname, "../../gateway/tls");

const plain = createServer((_, response) => void response.end("{}"));
const secure = createTlsServer(
  { cert: readFileSync(join(TLS, "certificate.pem")), key: readFileSync(join(TLS, "key.pem")) },
  (_, response) => void response.end('{"grove_version": "1.0.0"}'),
);
/** What a proxy says at a port of HTTPS. */
const proxy = createServer((_, response) => {
  response.writeHead(400).end("<h1>400 The plain HTTP request was sent to HTTPS port</h1>");
});
const moved = createServer((_, response) => void response.writeHead(302, { Location: "http://other.example" }).end());
const silent = createTcpServer((socket) => void socket.destroy());
const site = createServer((request, response) => {
  response.writeHead(request.method === "GET" ? 200 : 405).end("<!DOCTYPE html><title>Welcome</title>");
});
const servers: readonly Server[] = [plain, secure, proxy, moved, silent, site];

const hostOf = (server: { address(): unknown }) => `127.0.0.1:${(server.address() as AddressInfo).port}`;
const whyNot = async (address: string) => {
  const answered = await new GroveClient(address, "s.own").call("GET", "sys/health");
  return answered.ok ? "answered" : answered.error.message;
};

/** What a program prints about the server with TLS. @param script its file and flags; one that ends with --address gets it. */
async function printed(script: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const [file = "", ...flags] = script.split(" ");
  const address = `https://${hostOf(secure).replace("127.0.0.1", "localhost")}`;
  const words = [join(SCRIPTS, file), ...flags, ...(flags.at(-1) === "--address" ? [address] : [])];
  const env = { ...process.env, VAULT_ADDR: address, VAULT_TOKEN: "s.own", ...environment };
  const cwd = mkdtempSync(join(tmpdir(), "grove-tls-"));
  writeFileSync(join(cwd, "installation-id"), "");
  try {
    return await new Promise((resolve) => {
      execFile(process.execPath, words, { env, cwd }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`));
    });
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

const nobody = async (): Promise<never> => {
  throw new Error("nobody asks");
};
const unasked = (say: (line: string) => void): Terminal => ({
  ...{ colours: false, interactive: false, columns: null, out: () => {}, progress: () => {} },
  ...{ ask: nobody, secret: nobody, piped: false, lines: async function* () {}, say },
});

const certificateOf = (subjectaltname: string) =>
  ({ subject: { CN: "other" }, subjectaltname }) as unknown as PeerCertificate;

/** Every command that asks a server. */
const COMMANDS = COMMAND_NAMES.filter((name) => !["completion", "help", "version"].includes(name)).map(
  (name) => commandEntry(name).example.split(" <")[0] ?? name,
);

beforeAll(async () => {
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  for (const server of servers) server.close();
});

describe("no answer", () => {
  it("of a plain port that was asked by https", async () => {
    const host = hostOf(plain);
    expect(await whyNot(`https://${host}`)).toBe(
      `no answer from https://${host}: it does not speak TLS there: try http://${host}`,
    );
  });

  it("of a port of TLS that was asked by http, which says so or closes the connection", async () => {
    for (const host of [hostOf(secure), hostOf(proxy)])
      expect(await whyNot(`http://${host}`)).toBe(
        `no answer from http://${host}: it speaks TLS there: try https://${host}`,
      );
  });

  it("of a server whose certificate nobody vouches for", async () => {
    expect(await whyNot(`https://${hostOf(secure)}`)).toContain("VAULT_CACERT=FILE names its authority");
  });

  it.each(["VAULT_CACERT", "BAO_CACERT"])("of no server whose authority %s names", async (name) => {
    const certificate = join(TLS, "certificate.pem");
    for (const script of ["grove.ts tree", "backup.ts --to b --address", "upgrade.ts --backups b --data . --address"]) {
      const why = await printed(script, { [name]: certificate });
      expect(why, script).toMatch(/\S/);
      expect(why, script).not.toMatch(/certificate|no server answers/);
    }
    const message = `${name} takes a file of certificates in PEM; ${certificate}s is none, or can't be read`;
    for (const script of ["grove.ts tree", "backup.ts --to b --address"])
      expect(await printed(script, { [name]: `${certificate}s` })).toContain(message);
  });

  it("of a server that closes the connection names no other address", async () => {
    const why = await whyNot(`http://${hostOf(silent)}`);
    expect(why).toMatch(/^no answer from /);
    expect(why).not.toContain("try ");
  });

  it("of a port that nobody listens at", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const host = hostOf(gone);
    await new Promise((resolve) => gone.close(resolve));
    expect(await whyNot(`http://${host}`)).toBe(`no answer from http://${host}: nothing listens there`);
  });

  describe.each([
    ["a line break", "dev-secret\nx"],
    ["a null", "dev-secret\u0000x"],
    ["typographic quotes", "\u201cdev-secret\u201d"],
  ])("with %s in the token", (_, VAULT_TOKEN) => {
    it.each(COMMANDS)("is asked for by no %s, and the token is not repeated", async (words) => {
      const command = parseGroveArguments(words.split(" "));
      if (!command.ok) throw new Error(String(command.error));
      const said: string[] = [];
      const environment = { VAULT_ADDR: `http://${hostOf(plain)}`, VAULT_TOKEN };
      const code = await runGrove(
        command.value,
        environment,
        unasked((line) => void said.push(line)),
      );
      expect(said).toEqual(["grove: VAULT_TOKEN has characters that no token has (a line break?)"]);
      expect(code).toBe(words.startsWith("apply") ? 1 : 2);
    });

    it("a client sends nothing, and its failure does not repeat it", async () => {
      const answered = await new GroveClient(`http://${hostOf(plain)}`, VAULT_TOKEN).call("GET", "sys/health");
      expect(answered.ok ? "" : answered.error.message).toMatch(/^the token has characters/);
    });

    it("a message of fetch is not repeated either", async () => {
      const thrown = await fetch(`http://${hostOf(plain)}`, { headers: { "X-Vault-Token": VAULT_TOKEN } }).catch(
        (e) => e,
      );
      expect(String(thrown)).toMatch(/secret|ByteString/);
      expect(failureText(thrown)).toBe("the request could not be sent");
      expect(await whyNoAnswer(thrown, `http://${hostOf(plain)}`)).toBe("the request could not be sent");
    });
  });

  it("with white space at the ends of the token is asked for without it", async () => {
    const environment = { VAULT_ADDR: `http://${hostOf(plain)}`, VAULT_TOKEN: " dev-secret\r\n" };
    const said: string[] = [];
    await runGrove(
      { kind: "doctor", copies: null, json: true },
      environment,
      unasked((line) => void said.push(line)),
    );
    expect(said).toEqual([]);
  });

  it("of a web server that answers with pages says so, and asks for the address", async () => {
    const host = hostOf(site);
    expect(await whyNot(`http://${host}`)).toBe(`no answer from http://${host}: a web page came, with status 200`);
    const said: string[] = [];
    const terminal = unasked((line) => void said.push(line));
    for (const words of ["tree", "explain sys/auth"]) {
      const command = parseGroveArguments(words.split(" "));
      if (!command.ok) throw new Error(String(command.error));
      expect(await runGrove(command.value, { VAULT_ADDR: `http://${host}`, VAULT_TOKEN: "s.own" }, terminal)).toBe(1);
    }
    expect(said).toEqual([
      `grove: no answer from http://${host}: a web page came, with status 200 (is VAULT_ADDR right?)`,
      `grove: no answer from http://${host}: a web page came, with status 405 (is VAULT_ADDR right?)`,
    ]);
  });

  it("of a server whose certificate is of another name says of which", () => {
    const names = (subjectaltname: string) =>
      failureText(
        new TypeError("fetch failed", { cause: checkServerIdentity("grove", certificateOf(subjectaltname)) }),
      );
    expect(names("DNS:a.example, IP Address:192.0.2.1")).toBe(
      "its certificate is of another name: a.example, 192.0.2.1",
    );
    expect(names("DNS:a, DNS:b, DNS:c, DNS:d, DNS:e, DNS:f, DNS:g")).toMatch(/: a, b, c, d, e, 2 more$/);
    expect(names("")).toBe("its certificate is of another name");
  });

  it("of a server that leads elsewhere says so", async () => {
    expect(await whyNot(`http://${hostOf(moved)}`)).toContain("it leads to another address");
  });

  it.each([
    "https://on-call:secret@grove.example",
    "http://127.0.0.1:99999",
    "http://",
    "grove.example",
    "localhost:8200",
  ])("is asked for from %s, which no address is, or has a secret", async (address) => {
    const said: string[] = [];
    const terminal = unasked((line) => void said.push(line));
    expect(await runGrove({ kind: "doctor", copies: null, json: false }, { VAULT_ADDR: address }, terminal)).toBe(2);
    expect(said).toEqual([expect.stringMatching(/^grove: VAULT_ADDR /)]);
    expect(said[0]).not.toContain("secret");
    if (!address.startsWith("http")) expect(said[0]).toMatch(/has to begin with https:\/\/ or http:\/\/$/);
  });
});
