import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RawClient, request, startRecorder } from "./support.ts";

const MAIN = join(import.meta.dirname, "../../../scripts/gateway.ts");
const CERTIFICATE = join(import.meta.dirname, "tls/certificate.pem");
const KEY = join(import.meta.dirname, "tls/key.pem");

/** A gateway in a process of its own. */
class GatewayProcess {
  readonly child: ChildProcess;
  output = "";
  readonly exit: Promise<number | null>;

  constructor(flags: readonly string[], environment: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [MAIN, ...flags], { env: { ...process.env, ...environment } });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    this.exit = once(this.child, "close").then(([code]) => code);
    onTestFinished(() => {
      this.child.kill("SIGKILL");
    });
  }

  /** The port that it says it listens on. */
  async port(): Promise<number> {
    for (;;) {
      const [, port] = /127\.0\.0\.1:(\d+) ->/.exec(this.output) ?? [];
      if (port !== undefined) return Number(port);
      await Promise.race([once(this.child.stderr ?? this.child, "data"), this.exit]);
      if (this.child.exitCode !== null) throw new Error(this.output);
    }
  }
}

async function startSecureService(): Promise<string> {
  const server = createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }, (_, response) => {
    response.end("secure");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

describe("npm run gateway", () => {
  it("serves until it gets a signal to stop", async () => {
    const { url } = await startRecorder();
    const gateway = new GatewayProcess(["--to", url, "--listen", "127.0.0.1:0"]);
    const client = await RawClient.connect(await gateway.port());
    await client.send(request("LIST /v1/a"));
    expect((await client.answer()).body).toBe("GET /v1/a?list=true ");
    gateway.child.kill("SIGTERM");
    client.socket.end();
    expect(await gateway.exit).toBe(0);
    expect(gateway.output).not.toContain("Warning");
  });

  it("explains itself", async () => {
    const gateway = new GatewayProcess(["--help"]);
    expect(await gateway.exit).toBe(0);
    expect(gateway.output).toContain("--trust-proxy");
  });

  it("says which flag is wrong", async () => {
    const gateway = new GatewayProcess(["--to", "nowhere"]);
    expect(await gateway.exit).toBe(2);
    expect(gateway.output).toContain("--to takes an address");
  });

  it("says that the port is taken, and what to do", async () => {
    const { url } = await startRecorder();
    const gateway = new GatewayProcess(["--to", url, "--listen", new URL(url).host]);
    expect(await gateway.exit).toBe(1);
    expect(gateway.output).toContain("already in use");
    expect(gateway.output).toContain("--listen");
  });

  it("trusts the authorities that the operator adds", async () => {
    const url = await startSecureService();
    const gateway = new GatewayProcess(["--to", url, "--listen", "127.0.0.1:0"], { NODE_EXTRA_CA_CERTS: CERTIFICATE });
    const client = await RawClient.connect(await gateway.port());
    await client.send(request("GET /v1/a"));
    expect(await client.answer()).toMatchObject({ status: 200, body: "secure" });
  });

  it("talks to no service whose certificate does not verify, whatever the environment says", async () => {
    const url = await startSecureService();
    const gateway = new GatewayProcess(["--to", url, "--listen", "127.0.0.1:0"], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    const client = await RawClient.connect(await gateway.port());
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).status).toBe(502);
    expect(gateway.output).toContain("self-signed certificate");
  });

  it("talks to no service that has the certificate of another", async () => {
    const url = (await startSecureService()).replace("localhost", "127.0.0.1");
    const gateway = new GatewayProcess(["--to", url, "--listen", "127.0.0.1:0"], { NODE_EXTRA_CA_CERTS: CERTIFICATE });
    const client = await RawClient.connect(await gateway.port());
    await client.send(request("GET /v1/a"));
    expect((await client.answer()).status).toBe(502);
  });
});
