import { createExecutionContext } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import worker from "../../../src/index.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";

afterEach(() => vi.useRealTimers());

it("a client that sends its body slowly is judged by the policies of when it has sent all of it", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const root = await initialized();
  const rules = 'path "sys/policies/acl/*" { capabilities = ["create", "update"] }';
  await call("PUT", "sys/policies/acl/writer", { token: root, body: { policy: rules } });
  // The Worker itself judges a batch token: no tree with newer policies stands behind it.
  const { client_token } = await createToken(root, { type: "batch", policies: ["writer"], ttl: "1h" });
  const write = (body: BodyInit) => {
    const init = { method: "PUT", headers: { "X-Vault-Token": client_token }, body };
    const request = new Request("http://grove.test/v1/sys/policies/acl/target", init);
    return worker.fetch(request, bindings, createExecutionContext());
  };
  const text = JSON.stringify({ policy: 'path "secret" { capabilities = ["read"] }' });
  expect((await write(text)).status).toBe(204);

  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const slow = write(readable);
  const body = writable.getWriter();
  await body.write(new TextEncoder().encode(text.slice(0, 10)));
  await call("DELETE", "sys/policies/acl/writer", { token: root });
  vi.setSystemTime(Date.now() + 1_000);
  await body.write(new TextEncoder().encode(text.slice(10)));
  await body.close();
  expect((await slow).status).toBe(403);
});
