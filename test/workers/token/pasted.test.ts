import { beforeAll, expect, it } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

it("a token is read without the white space that it was pasted with", async () => {
  const { client_token: token } = await createToken(root, { ttl: "1h" });
  const wrapped = ` ${token.slice(0, 40)}\n\t${token.slice(40)}\r\n`;
  const seen = await call("POST", "auth/token/lookup", { token: root, body: { token: wrapped } });
  expect([seen.status, seen.body.data?.id]).toEqual([200, token]);
  expect((await call("POST", "auth/token/renew", { token: root, body: { token: wrapped } })).status).toBe(200);
  expect((await call("POST", "auth/token/revoke", { token: root, body: { token: wrapped } })).status).toBe(204);
  expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
});

it("a wrapping token is read so as well", async () => {
  const wrap = await call("POST", "sys/wrapping/wrap", {
    token: root,
    body: { a: 1 },
    headers: { "X-Vault-Wrap-TTL": "60" },
  });
  const token = String(wrap.body.wrap_info?.token);
  const unwrapped = await call("POST", "sys/wrapping/unwrap", {
    body: { token: `${token.slice(0, 9)} ${token.slice(9)}\n` },
    token: root,
  });
  expect([unwrapped.status, unwrapped.body.data]).toEqual([200, { a: 1 }]);
});
