import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** How a target answers a revocation: it agrees at once, refuses once and then agrees, or always refuses. */
export const TEMPERS = ["willing", "slow", "refusing"] as const;
export type Temper = (typeof TEMPERS)[number];

/** An engine that is told of leases that have ended. */
export class Engine {
  /** Leases that it was told of, by id, whatever it answered. */
  readonly told = new Set<string>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Engine> {
    const server = createServer();
    const engine = new Engine(server);
    server.on("request", (request, response) => {
      const lease = String(request.headers["idempotency-key"]);
      const temper = request.url?.slice(1);
      request.resume().on("end", () => {
        const first = !engine.told.has(lease);
        engine.told.add(lease);
        response.writeHead(temper === "refusing" ? 400 : temper === "slow" && first ? 503 : 204).end();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return engine;
  }

  /** The URL that a lease names for its revocation. */
  target(temper: Temper): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${temper}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
