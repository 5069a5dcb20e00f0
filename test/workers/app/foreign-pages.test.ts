import { describe, expect, it } from "vitest";
import { KINDS } from "../../../src/app/registry.ts";
import { distinctTypes } from "../../../src/app/route-tables.ts";
import { TABLES } from "../../../src/app/routes.ts";
import type { Operation } from "../../../src/policy/operation.ts";
import { call, initialized } from "../../support/service.ts";

const METHODS: Partial<Record<Operation, string>> = { update: "PUT", delete: "DELETE", patch: "PATCH" };

/** Every endpoint that may act without a token, with a mount of each auth method. */
const FORGEABLE = [
  ...TABLES.fixed.routes.map((route) => ({ route, path: route.path })),
  ...distinctTypes(TABLES).flatMap(([type, { routes }]) =>
    routes.map((route) => ({ route, path: `auth/${type}/${route.path}` })),
  ),
].flatMap(({ route, path }) =>
  route.access === "token"
    ? []
    : route.operations.flatMap((operation) => {
        const method = METHODS[operation];
        return method === undefined ? [] : [{ method, path }];
      }),
);

const FOREIGN = [
  { Origin: "https://evil.example" },
  { Origin: "null" },
  { "Sec-Fetch-Site": "cross-site" },
  { "Sec-Fetch-Site": "same-site" },
  { "Sec-Fetch-Site": "cross-site", Origin: "http://grove.test" },
];

/** What a page may send without asking: a form, or text. */
const SIMPLE = { "Content-Type": "text/plain" };
const REFUSAL =
  "a web page of another site can't call this endpoint: the request's Origin or Sec-Fetch-Site is not of this server";

/** In order: the installation of this file is made by the second test. */
describe("a page of another site", () => {
  it("can't initialise the server, whatever host the request names", async () => {
    for (const headers of FOREIGN) {
      const answer = await call("POST", "sys/init", { headers: { ...SIMPLE, ...headers }, raw: "{}" });
      expect([answer.status, answer.body.errors]).toEqual([403, [REFUSAL]]);
    }
    // By DNS rebinding the page has the name by which it calls the server.
    const rebound = await call("POST", "sys/init", { headers: { Origin: "http://grove.test" } });
    expect([rebound.status, String(rebound.body.errors)]).toEqual([403, expect.stringContaining("GROVE_INIT_TOKEN")]);
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
  });

  it("can't call any endpoint that acts without a token", async () => {
    const root = await initialized();
    for (const type of KINDS.methods.keys()) {
      expect((await call("POST", `sys/auth/${type}`, { token: root, body: { type } })).status).toBe(204);
    }
    expect(FORGEABLE.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["sys/init", "sys/generate-root/update", "auth/cloud/login", "auth/jwt/login"]),
    );
    for (const { method, path } of FORGEABLE) {
      for (const headers of FOREIGN) {
        const answer = await call(method, path, { headers: { ...SIMPLE, ...headers }, raw: "{}" });
        expect([path, answer.status, answer.body.errors]).toEqual([path, 403, [REFUSAL]]);
      }
      for (const headers of [{}, { Origin: "http://grove.test" }, { "Sec-Fetch-Site": "same-origin" }]) {
        const answer = await call(method, path, { headers: { ...SIMPLE, ...headers }, raw: "{}" });
        expect(String(answer.body?.errors)).not.toContain("another site");
      }
    }
  });

  it("may call endpoints that only read, and may not send a token", async () => {
    const headers = { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" };
    expect((await call("GET", "sys/health", { headers })).status).toBe(200);
    const preflight = await call("OPTIONS", "sys/auth", { headers });
    expect(preflight.status).toBe(405);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});
