import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { CLUSTER, NETWORK } from "../../../src/app/deployments.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { call, initialized } from "../../support/service.ts";
import { countRows, locate } from "../../support/trees.ts";

const LOST = "Network connection lost.";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  runAs(CLUSTER);
  vi.spyOn(console, "error").mockReturnValue();
});

afterEach(() => runAs(NETWORK));

async function newToken(fields: object = {}): Promise<string> {
  const body = { policies: ["default"], ttl: "1h", ...fields };
  const answer = await call("POST", "auth/token/create-orphan", { token: root, body });
  return answer.body.auth.client_token;
}

const asHolder = (token: string, method: string, path: string, body?: unknown) =>
  call(method, path, { token, ...(body !== undefined && { body }) });

const lookUp = (token: string) => asHolder(token, "GET", "auth/token/lookup-self");

/** The next `times` calls to trees are lost, after they were carried out or before. Returns how many calls there were. */
function lose(when: "before" | "after", times = 1, method: "run" | "act" = "run"): { readonly count: number } {
  const calls = { count: 0 };
  atCalls(TokenTree, method, async ({ proceed }) => {
    if (++calls.count > times) return proceed();
    if (when === "after") await proceed();
    throw new Error(LOST);
  });
  return calls;
}

describe("a call that a cluster loses", () => {
  it.each(["before", "after"] as const)("is repeated for a look-up: lost %s it was carried out", async (when) => {
    const token = await newToken();
    const calls = lose(when, 3);
    expect((await lookUp(token)).status).toBe(200);
    expect(calls.count).toBe(4);
  });

  it("is a 503 that says when to come again, when its object does not come back soon", async () => {
    const token = await newToken();
    const calls = lose("before", 1000);
    const answer = await lookUp(token);
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(calls.count).toBe(7);
  });

  it("is repeated for what may be carried out twice", async () => {
    for (const when of ["before", "after"] as const) {
      const token = await newToken();
      lose(when);
      expect((await asHolder(token, "POST", "auth/token/renew-self")).status).toBe(200);
      lose(when);
      expect((await asHolder(token, "PUT", "cubbyhole/a", { b: "c" })).status).toBe(204);
    }
  });

  it.each([
    ["before", 503, 3],
    ["after", 503, 2],
  ] as const)("counts one use at most: lost %s it was carried out", async (when, status, left) => {
    const token = await newToken({ num_uses: 3 });
    lose(when);
    expect((await lookUp(token)).status).toBe(status);
    // The look-up itself is a use.
    expect((await lookUp(token)).body.data.num_uses).toBe(left - 1);
  });

  it("ends a token once, and does not say that it was refused", async () => {
    const token = await newToken();
    lose("after");
    expect((await asHolder(token, "POST", "auth/token/revoke-self")).status).toBe(503);
    expect((await lookUp(token)).status).toBe(403);
    const other = await newToken();
    lose("before");
    expect((await asHolder(other, "POST", "auth/token/revoke-self")).status).toBe(204);
  });

  it.each(["before", "after"] as const)("makes one child: lost %s it was made", async (when) => {
    const parent = await newToken({ policies: ["root"] });
    lose(when);
    const { status, body } = await asHolder(parent, "POST", "auth/token/create", { ttl: "1h" });
    expect(status).toBe(200);
    expect((await lookUp(body.auth.client_token)).status).toBe(200);
    // The test looks into the object, which takes the stub of the platform.
    runAs(NETWORK);
    const { stub } = await locate(parent);
    expect(await countRows(stub)).toBe(2);
  });

  it("is not repeated for the answer of a wrapping token, which is given once", async () => {
    const wrapped = await call("POST", "sys/wrapping/wrap", {
      token: root,
      body: { a: "b" },
      headers: { "X-Vault-Wrap-TTL": "60" },
    });
    const { token } = wrapped.body.wrap_info;
    const calls = lose("before");
    expect((await asHolder(token, "POST", "sys/wrapping/unwrap")).status).toBe(503);
    expect(calls.count).toBe(1);
    expect((await asHolder(token, "POST", "sys/wrapping/unwrap")).status).toBe(200);
  });

  it("to the tree of another token is repeated, and does not say that the token it revoked is unknown", async () => {
    for (const [when, status] of [
      ["before", 204],
      ["after", 503],
    ] as const) {
      const token = await newToken();
      const calls = lose(when, 1, "act");
      expect((await asHolder(root, "POST", "auth/token/revoke", { token })).status).toBe(status);
      expect(calls.count).toBe(2);
      expect((await lookUp(token)).status).toBe(403);
    }
  });

  it("is repeated for a look into a wrapping token", async () => {
    const wrapped = await call("POST", "sys/wrapping/wrap", {
      token: root,
      body: { a: "b" },
      headers: { "X-Vault-Wrap-TTL": "60" },
    });
    const { token } = wrapped.body.wrap_info;
    const calls = lose("after", 1, "act");
    expect((await asHolder(root, "POST", "sys/wrapping/lookup", { token })).status).toBe(200);
    expect(calls.count).toBe(2);
  });

  it("is not repeated on Cloudflare's network, which has repeated it already", async () => {
    runAs(NETWORK);
    const token = await newToken();
    const calls = lose("before");
    expect((await lookUp(token)).status).toBe(503);
    expect(calls.count).toBe(1);
  });
});
