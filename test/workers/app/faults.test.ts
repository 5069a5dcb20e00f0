import { createExecutionContext } from "cloudflare:test";
import { beforeAll, expect, it, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { bindings, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

/** The environment, but for an object that does not answer: it throws this instead. */
function throwing(thrown: unknown): Env {
  const TIDY = new Proxy(bindings.TIDY, {
    get: () => {
      throw thrown;
    },
  });
  return { ...bindings, TIDY };
}

it.each([
  ["an Error", new Error("swordfish")],
  ["a text", "swordfish"],
  ["nothing", undefined],
  ["an object", { secret: "swordfish" }],
])("%s that is thrown becomes a 500 without details, with its last audit line", async (_, thrown) => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const request = new Request("http://grove.test/v1/auth/token/tidy-status", { headers: { "X-Vault-Token": root } });
  const response = await worker.fetch(request, throwing(thrown), createExecutionContext());
  vi.restoreAllMocks();
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("swordfish");
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    type: "response",
    path: "auth/token/tidy-status",
    status: 500,
    request_id: response.headers.get("X-Request-Id"),
  });
});
