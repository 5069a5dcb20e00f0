import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { newIssuer } from "../../support/issuer.ts";
import { call, PROJECT } from "./server.ts";

const GITHUB = "https://token.actions.githubusercontent.com";

/** Settings of a server that may ask an issuer on this machine. */
export const ALLOWS_ISSUER = ["--allow-private-host", "127.0.0.1"];

/** The issuer of administrators in the example of a declared start, on this machine. */
export interface DeclaredIssuer {
  /** From now on the issuer answers no request, so that a start waits in the middle of its file. Resolves once it is asked. */
  hold(): Promise<void>;
  /** Answers again. */
  release(): void;
  /** Writes the example, with this issuer. */
  writeExample(file: string): void;
  /** Logs in as an administrator. */
  logIn(server: { readonly address: string }, claims?: Record<string, unknown>): ReturnType<typeof call>;
  close(): void;
}

export async function startDeclaredIssuer(): Promise<DeclaredIssuer> {
  const issuer = await newIssuer("ES256", "k");
  let held: ((response: ServerResponse) => void) | null = null;
  let address = "";
  const server = createServer((request, response) => {
    if (held) return held(response);
    const isKeys = request.url === "/keys";
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(isKeys ? { keys: [issuer.jwk] } : { issuer: address, jwks_uri: `${address}/keys` }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = () => resolve();
      return promise;
    },
    release() {
      held = null;
    },
    writeExample(file) {
      const example = readFileSync(join(PROJECT, "examples/start.hcl"), "utf8");
      expect(example).toContain(GITHUB);
      writeFileSync(file, example.replace(GITHUB, address));
    },
    async logIn(target, claims = {}) {
      const wanted = { repository: "example/infrastructure", environment: "grove", ...claims };
      const jwt = await issuer.sign({ iss: address, sub: "repo:example/infrastructure", ...wanted });
      return call(target, "POST", "/v1/auth/github/login", { body: { jwt } });
    },
    close: () => server.close(),
  };
}
