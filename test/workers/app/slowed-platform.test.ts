import { beforeAll, beforeEach, expect, it, vi } from "vitest";
import { failureOfPlatform } from "../../../src/base/platform-errors.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { failing } from "../../support/calls.ts";
import { DocumentSigner } from "../../support/cloud-login.ts";
import { type CloudMount, HOME, mountCloud } from "../../support/cloud-mount.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { type Answer, call, initialized } from "../../support/service.ts";
import { listedAccessors } from "../../support/tidy.ts";
import { holdSweeps } from "../../support/trees.ts";

/** What the platform says when it starts no further objects, or asks an account to slow down. */
const TOO_MUCH_LOAD =
  "Your account is generating too much load on Durable Objects. Please back off and try again later.";
const TOO_MUCH_STORAGE =
  "Your account is doing too many concurrent storage operations. Please back off and try again later.";
const OVERLOADED = "Durable Object is overloaded. Requests queued for too long.";

const cloud = new FakeCloud();
let root: string;
let mount: CloudMount;

beforeAll(async () => {
  root = await initialized();
  replaceInternet(cloud);
  mount = await mountCloud(root, "cloud", cloud, new DocumentSigner());
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME, token_ttl: "10m" });
});

beforeEach(() => {
  holdSweeps();
  vi.spyOn(console, "error").mockReturnValue();
});

const create = (path: string, body: unknown = {}, headers = {}) =>
  call("POST", `auth/token/${path}`, { token: root, body, headers });

/** The next `times` objects are not started. Returns how often one was asked for, from then on. */
function refuse(message: string, times = 1): () => number {
  // Through another isolate an error keeps its text alone.
  const creations = failing(TokenTree, "create", message, times);
  return () => creations.calls.length;
}

it.each([TOO_MUCH_LOAD, TOO_MUCH_STORAGE, OVERLOADED])(
  "an orphan whose object is not started is a 503 that says when to come again, once and with nothing left: %s",
  async (message) => {
    const before = await listedAccessors();
    const asked = refuse(message);
    const answer = await create("create-orphan");
    expectBusy(answer, message === OVERLOADED ? [1, 1] : [2, 7]);
    expect(JSON.stringify(answer.body)).not.toContain("account");
    // The service does not try again by itself: the client does.
    expect(asked()).toBe(1);
    expect(await listedAccessors()).toEqual(before);
    expect((await create("create-orphan")).status).toBe(200);
  },
);

it("clients of a slowed account are not sent back all at once", () => {
  const seconds = Array.from({ length: 200 }, () => {
    const failure = failureOfPlatform(new Error(TOO_MUCH_LOAD));
    return failure?.code === "unavailable" ? failure.retryAfterSeconds : 0;
  });
  expect([...new Set(seconds)].sort()).toEqual([2, 3, 4, 5, 6, 7]);
});

it.each([
  ["overloaded", Object.assign(new Error("x"), { overloaded: true })],
  ["retryable", Object.assign(new Error("x"), { retryable: true })],
  ["durableObjectReset", Object.assign(new Error("x"), { durableObjectReset: true })],
  ["reset", new Error("Durable Object reset because its code was updated.")],
  ["timeout", new Error("Durable Object storage operation exceeded timeout which caused object to be reset.")],
  ["connection", new Error("Network connection lost.")],
])("an object that is away for a moment is a 503 as well: %s", (_, error) => {
  expect(failureOfPlatform(error)).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
});

it.each(["database disk image is malformed: SQLITE_CORRUPT", "file is not a database: SQLITE_NOTADB"])(
  "a database that is damaged is called so: %s",
  (text) => {
    const failure = failureOfPlatform(Object.assign(new Error(text), { durableObjectReset: true }));
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringContaining("is damaged") });
  },
);

it.each([new Error("my Durable Object is overloaded."), new Error(""), "overloaded", null, undefined, {}])(
  "any other error is a bug: %s",
  (error) => {
    expect(failureOfPlatform(error)).toBeNull();
  },
);

it("the id that root chose for a token is free again at once", async () => {
  refuse(TOO_MUCH_LOAD);
  expectBusy(await create("create-orphan", { id: "chosen" }), [2, 7]);
  expect((await create("create-orphan", { id: "chosen" })).status).toBe(200);
  expect((await create("create-orphan", { id: "chosen" })).status).toBe(400);
});

it("a login is undone: the machine logs in as for the first time when it comes again", async () => {
  const instance = cloud.world.addInstance(HOME, "eu-west-1");
  refuse(TOO_MUCH_LOAD, 2);
  for (let time = 0; time < 2; time++) expectBusy(await mount.loginInstance(instance, { role: "web" }), [2, 7]);
  expect((await mount.loginInstance(instance, { role: "web" })).status).toBe(200);
  // Now it has a nonce, without which it is refused.
  expect((await mount.loginInstance(instance, { role: "web" })).status).toBe(400);
});

it("an answer that can't be wrapped is a 503, and a second one is wrapped", async () => {
  const headers = { "X-Vault-Wrap-TTL": "60" };
  refuse(TOO_MUCH_LOAD);
  expectBusy(await call("GET", "auth/token/lookup-self", { token: root, headers }), [2, 7]);
  expect((await call("GET", "auth/token/lookup-self", { token: root, headers })).body.wrap_info.token).toMatch(/^s\./);
});

function expectBusy({ status, headers, body }: Answer, [least, most]: readonly [number, number]): void {
  expect([status, body.errors]).toEqual([503, ["the service is busy; try again"]]);
  const seconds = Number(headers.get("Retry-After"));
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThanOrEqual(most);
}
