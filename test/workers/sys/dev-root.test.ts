import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { app } from "../../../src/app/app.ts";
import { bindings } from "../../support/service.ts";

const send = async (path: string, token: string, method = "GET", body?: unknown) => {
  const init = { method, headers: { "X-Vault-Token": token }, body: body ? JSON.stringify(body) : null };
  const request = new Request(`http://grove.test/v1/${path}`, init);
  const response = await app.fetch(
    request,
    { ...bindings, GROVE_DEV_ROOT_TOKEN: "dev-root" },
    createExecutionContext(),
  );
  return { status: response.status, text: await response.text() };
};

it("a development installation starts with the root token of its configuration, however many ask first", async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => send("auth/token/lookup-self", "dev-root")));
  expect(answers.map(({ status }) => status)).toContain(200);
  expect((await send("auth/token/lookup-self", "dev-root")).status).toBe(200);
  expect((await send("auth/token/lookup-self", "dev-roo")).status).toBe(403);
  expect((await send("auth/token/create", "dev-root", "POST", { id: "dev-root" })).status).toBe(400);
  expect((await send("sys/init", "", "PUT")).status).toBe(400);
});
