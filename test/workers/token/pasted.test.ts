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

it("an accessor is read so as well", async () => {
  const { client_token: token, accessor } = await createToken(root, { ttl: "1h" });
  const wrapped = `\ufeff${accessor.slice(0, 40)}\n\t${accessor.slice(40)}\u00a0`;
  const named = { accessor: wrapped, paths: ["sys/auth"], path: "sys/auth" };
  const post = (path: string) => call("POST", path, { token: root, body: named });
  for (const path of ["auth/token/lookup-accessor", "auth/token/renew-accessor", "sys/capabilities-accessor"]) {
    expect([path, (await post(path)).status]).toEqual([path, 200]);
  }
  expect((await post("sys/explain/access")).status).toBe(200);
  expect((await call("POST", "sys/tokens/find", { token: root, body: { accessor: wrapped } })).status).toBe(200);
  expect((await post("auth/token/revoke-accessor")).status).toBe(204);
  expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(403);
});

it("a token in a header is read so as well", async () => {
  const { client_token: token } = await createToken(root, { ttl: "1h" });
  const spaced = `${token.slice(0, 40)} \t${token.slice(40)}`;
  for (const headers of [{ "X-Vault-Token": spaced }, { Authorization: `Bearer  ${spaced}` }]) {
    const seen = await call("GET", "auth/token/lookup-self", { headers });
    expect([seen.status, seen.body.data?.id]).toEqual([200, token]);
  }
});

async function wrapped(): Promise<string> {
  const headers = { "X-Vault-Wrap-TTL": "60" };
  const wrap = await call("POST", "sys/wrapping/wrap", { token: root, body: { a: 1 }, headers });
  return String(wrap.body.wrap_info?.token);
}

const withBlanks = (token: string) => `${token.slice(0, 9)} ${token.slice(9)}\n`;

it("a wrapping token is read so as well", async () => {
  const token = withBlanks(await wrapped());
  const seen = await call("POST", "sys/wrapping/lookup", { body: { token } });
  expect([seen.status, seen.body.data?.creation_path]).toEqual([200, "sys/wrapping/wrap"]);
  const unwrapped = await call("POST", "sys/wrapping/unwrap", { body: { token }, token: root });
  expect([unwrapped.status, unwrapped.body.data]).toEqual([200, { a: 1 }]);
  const rewrapped = await call("POST", "sys/wrapping/rewrap", {
    body: { token: withBlanks(await wrapped()) },
    token: root,
  });
  expect(rewrapped.status).toBe(200);
});

it("a wrapping token that the header has and the body repeats with white space is unwrapped", async () => {
  const token = await wrapped();
  const unwrapped = await call("POST", "sys/wrapping/unwrap", { body: { token: withBlanks(token) }, token });
  expect([unwrapped.status, unwrapped.body.data]).toEqual([200, { a: 1 }]);
});

it("a wrapping token of white space alone is an empty one", async () => {
  const refused = await call("POST", "sys/wrapping/unwrap", { body: { token: " \n" }, token: root });
  expect([refused.status, refused.body.errors]).toEqual([
    403,
    ["error validating wrapping token: empty token in request body"],
  ]);
});
