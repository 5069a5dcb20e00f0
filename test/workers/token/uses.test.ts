import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";
import { countRows, holdSweeps, locate, sweep } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

const self = (token: string) => call("GET", "auth/token/lookup-self", { token });
const limited = async (num_uses: number) => (await createToken(root, { policies: ["default"], num_uses })).client_token;

describe("num_uses", () => {
  it("64 requests at once on 10 uses: exactly 10 succeed", async () => {
    const token = await limited(10);
    const statuses = await Promise.all(Array.from({ length: 64 }, async () => (await self(token)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 403)).toHaveLength(54);
  });

  it("counts down, shows -1 at the last use and is gone after it", async () => {
    const token = await limited(2);
    const { stub } = await locate(token);
    await sweep(stub);
    const before = await countRows(stub);
    expect((await self(token)).body.data.num_uses).toBe(1);
    expect((await self(token)).body.data.num_uses).toBe(-1);
    expect((await self(token)).status).toBe(403);
    await sweep(stub);
    expect(await countRows(stub)).toBe(before - 1);
  });

  it("a use counts also when the policies refuse the request", async () => {
    const token = await limited(2);
    expect((await call("GET", "sys/policies/acl/default", { token })).status).toBe(403);
    expect((await self(token)).body.data.num_uses).toBe(-1);
  });

  it("a malformed request costs none, nor does a look-up by another; a path that nothing serves costs one", async () => {
    const token = await limited(3);
    expect((await call("POST", "auth/token/renew-self", { token, body: { increment: "soon" } })).status).toBe(400);
    expect(
      (await call("GET", "auth/token/lookup-self", { token, headers: { "X-Vault-Wrap-TTL": "soon" } })).status,
    ).toBe(400);
    expect((await call("GET", "nothing/here", { token })).status).toBe(403);
    const seen = await call("POST", "auth/token/lookup", { token: root, body: { token } });
    expect(seen.body.data.num_uses).toBe(2);
  });

  it("a token without a limit is never counted", async () => {
    expect((await self(root)).body.data.num_uses).toBe(0);
    expect((await self(root)).body.data.num_uses).toBe(0);
  });

  it("such a token can't create tokens; text is taken as a number", async () => {
    const token = (await createToken(root, { policies: ["root"], num_uses: "5" })).client_token;
    const made = await call("POST", "auth/token/create", { token, body: {} });
    expect([made.status, made.body.errors]).toEqual([400, ["restricted use token cannot generate child tokens"]]);
  });
});
