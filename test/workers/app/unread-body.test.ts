import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../../src/app/app.ts";
import { bindings, initialized } from "../../support/service.ts";

beforeAll(async () => {
  await initialized();
});

const PIECE = new Uint8Array(64 * 1024).fill(0x20);
const PIECES = 15;

/** Sends a body in pieces. @returns the status, and whether the whole body was read. */
async function send(method: string, path: string, headers: Record<string, string> = {}) {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (sent++ < PIECES) controller.enqueue(PIECE);
      else controller.close();
    },
  });
  const length = { "Content-Length": String(PIECES * PIECE.length), "CF-Connecting-IP": "192.0.2.26" };
  const request = new Request(`http://grove.test${path}`, { method, headers: { ...length, ...headers }, body });
  const { status } = await app.fetch(request, bindings, createExecutionContext());
  return { status, isWhole: sent > PIECES };
}

describe("a body that an answer does not need is read, so that a gateway which is sending it gets the answer", () => {
  it.each<[string, string, string, Record<string, string>, number]>([
    ["a type that is not taken", "PATCH", "/v1/sys/policies/acl/x", { "Content-Type": "application/json" }, 415],
    ["a header that can't be read", "POST", "/v1/auth/token/create", { "X-Vault-Wrap-TTL": "soon" }, 400],
    ["a method without a body", "DELETE", "/v1/sys/auth/x", {}, 403],
    ["a path that can't be decoded", "POST", "/v1/a%ff", {}, 400],
    ["a method that is not served", "OPTIONS", "/v1/sys/health", {}, 405],
  ])("%s", async (_, method, path, headers, status) => {
    expect(await send(method, path, headers)).toEqual({ status, isWhole: true });
  });

  it("too many requests of a client", async () => {
    const guess = () => send("POST", "/v1/sys/init", { "Content-Type": "application/json" });
    for (let tried = 0; tried < 10; tried++) await guess();
    expect(await guess()).toEqual({ status: 429, isWhole: true });
  });

  it("that never ends holds up no answer for long", async () => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(PIECE) });
    const request = new Request("http://grove.test/v1/sys/auth/x", { method: "DELETE", body });
    const { status } = await app.fetch(request, bindings, createExecutionContext());
    expect(status).toBe(403);
  });
});
