import { evictDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { madeIn } from "../../support/rows.ts";
import { call, initialized } from "../../support/service.ts";
import { holdSweeps, locate, runAlarm } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

it("a tree of which nothing is left keeps no database, and its tokens stay refused", async () => {
  const made = await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["default"] } });
  const token = made.body.auth.client_token;
  const { stub } = await locate(token);
  await call("POST", "cubbyhole/x", { token, body: { v: 1 } });
  await call("POST", "auth/token/revoke-self", { token });
  expect(await madeIn(stub)).toContain("tokens");
  await runAlarm(stub);
  expect(await madeIn(stub)).not.toContain("tokens");
  for (const evicted of [false, true]) {
    if (evicted) await evictDurableObject(stub);
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
    const seen = await call("POST", "auth/token/lookup", { token: root, body: { token } });
    expect([seen.status, seen.body.errors]).toEqual([403, ["bad token"]]);
  }
  expect(await madeIn(stub)).not.toContain("tokens");
});

it("a tree with a living token keeps it when the rest has been swept", async () => {
  const made = await call("POST", "auth/token/create-orphan", { token: root, body: { policies: ["root"], ttl: "1h" } });
  const child = await call("POST", "auth/token/create", { token: made.body.auth.client_token, body: { ttl: "1h" } });
  const { stub } = await locate(child.body.auth.client_token);
  const body = { token: made.body.auth.client_token };
  await call("POST", "auth/token/revoke-orphan", { token: root, body });
  await runAlarm(stub);
  expect((await call("GET", "auth/token/lookup-self", { token: child.body.auth.client_token })).status).toBe(200);
});
