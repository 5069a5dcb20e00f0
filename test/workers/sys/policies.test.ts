import { createExecutionContext } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { app } from "../../../src/app/app.ts";
import { DEFAULT_POLICY_TEXT } from "../../../src/policy/builtin.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { bindings, call, createToken, keysOf } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initializedAlone();
});

const TEXT = 'path "auth/token/lookup-self" { capabilities = ["read"] }';
const write = (name: string, body: unknown, at = "sys/policies/acl") =>
  call("POST", `${at}/${name}`, { token: root, body });
const read = (name: string, at = "sys/policies/acl") => call("GET", `${at}/${name}`, { token: root });
const list = async (at = "sys/policies/acl") => (await call("GET", `${at}?list=true`, { token: root })).body.data.keys;

describe("policies over HTTP", () => {
  it("the list starts as default and root; names are sorted, response-wrapping is hidden", async () => {
    expect(await list()).toEqual(["default", "root"]);
    await write("foo", { policy: TEXT });
    expect(await list()).toEqual(["default", "foo", "root"]);
    const old = await call("GET", "sys/policy", { token: root });
    expect(old.body.keys).toEqual(["default", "foo", "root"]);
    expect(old.body.policies).toEqual(["default", "foo", "root"]);
    expect((await read("response-wrapping")).status).toBe(200);
  });

  it("names are one whatever their case; deleting twice is no error", async () => {
    const written = await write("MiXed", { policy: TEXT });
    expect([written.status, written.body.warnings]).toEqual([200, ["policy name was converted to mixed"]]);
    expect((await read("mIXED")).body.data).toMatchObject({ name: "mixed", policy: TEXT });
    for (let i = 0; i < 2; i++) {
      expect((await call("DELETE", "sys/policies/acl/MIXED", { token: root })).status).toBe(204);
    }
    expect((await read("mixed")).status).toBe(404);
  });

  it("refuses an empty text, in a patch too", async () => {
    await write("full", { policy: TEXT });
    const headers = { "Content-Type": "application/merge-patch+json" };
    for (const answer of [
      await write("full", { policy: "" }),
      await call("PATCH", "sys/policies/acl/full", { token: root, headers, body: { policy: "" } }),
    ]) {
      expect([answer.status, answer.body.errors]).toEqual([400, ["'policy' parameter not supplied or empty"]]);
    }
    expect((await read("full")).body.data).toMatchObject({ policy: TEXT, version: 1 });
  });

  it("keeps a text that was sent in base64 as the rules that it encodes", async () => {
    await write("encoded", { policy: btoa(TEXT) });
    expect((await read("encoded")).body.data.policy).toBe(TEXT);
    await write("encoded", { policy: btoa(TEXT) }, "sys/policy");
    expect((await read("encoded")).body.data.policy).toBe(TEXT);
  });

  it("refuses a text with half of a surrogate pair, which could not be read again", async () => {
    await write("halves", { policy: TEXT });
    const written = await write("halves", { policy: `# \ud800\n${TEXT}` });
    expect([written.status, written.body.errors]).toEqual([
      400,
      ["failed to decode JSON input: half of a surrogate pair (\\ud800 to \\udfff) is no character"],
    ]);
    expect((await read("halves")).body.data.policy).toBe(TEXT);
  });

  it("refuses a setting that stands twice, at both paths and of a patch, with its place", async () => {
    const policy = 'path "x" {\n  capabilities = ["deny"]\n  capabilities = ["read"]\n}';
    const errors = ['failed to parse policy: path "x": "capabilities" is already set on line 2 (line 3, column 3)'];
    await write("twice", { policy: TEXT });
    const headers = { "Content-Type": "application/merge-patch+json" };
    for (const { status, body } of [
      await write("twice", { policy }),
      await write("twice", { policy }, "sys/policy"),
      await call("PATCH", "sys/policies/acl/twice", { token: root, headers, body: { policy } }),
    ]) {
      expect([status, body.errors]).toEqual([400, errors]);
    }
    expect((await read("twice")).body.data).toMatchObject({ policy: TEXT, version: 1 });
  });

  it("a policy that an earlier release stored with a duplicate setting stays in effect, as it was read then", async () => {
    const text = 'path "sys/policies/acl/default" {\n capabilities = ["list"]\n capabilities = ["read"] }';
    const settings = { expiresAt: null, cas: null, casRequired: false, allowSlashes: false, allowWildcards: false };
    const rulesJson = JSON.stringify([{ path: "sys/policies/acl/default", capabilities: ["list", "read"] }]);
    await systemOf(bindings).writePolicy("earlier", { ...settings, content: { text, rulesJson } }, Date.now());
    forgetInstallation();
    const { client_token: token } = await createToken(root, { policies: ["earlier"] });
    expect((await call("GET", "sys/policies/acl/default", { token })).status).toBe(200);
    expect((await read("earlier")).body.data).toMatchObject({ policy: text });
    const asked = { token, path: "sys/policies/acl/default", operation: "read" };
    const explained = await call("POST", "sys/explain/access", { token: root, body: asked });
    expect(explained.body.data).toMatchObject({ allowed: true, rule: { policies: [{ name: "earlier", lines: [1] }] } });
    const headers = { "Content-Type": "application/merge-patch+json" };
    const patched = await call("PATCH", "sys/policies/acl/earlier", { token: root, headers, body: { ttl: "1h" } });
    expect(patched.status).toBe(200);
    expect((await call("GET", "sys/policies/acl/default", { token })).status).toBe(200);
    expect((await write("earlier", { policy: text })).status).toBe(400);
  });

  it("a new name can't differ from another only by blanks; an older one is written, read and deleted", async () => {
    for (const name of ["two%20%20blanks", "no%C2%A0break"]) {
      expect((await write(name, { policy: TEXT })).status).toBe(400);
    }
    const content = { text: TEXT, rulesJson: "[]" };
    const settings = { expiresAt: null, cas: null, casRequired: false, allowSlashes: false, allowWildcards: false };
    await systemOf(bindings).writePolicy("no\u00a0break", { content, ...settings }, Date.now());
    await forgetInstallation();
    expect((await write("no%C2%A0break", { policy: TEXT })).status).toBe(204);
    expect((await read("no%C2%A0break")).body.data).toMatchObject({ version: 2, policy: TEXT });
    expect((await call("DELETE", "sys/policies/acl/no%C2%A0break", { token: root })).status).toBe(204);
  });

  it("names with slashes are listed below their folder", async () => {
    await write("team/a", { policy: TEXT });
    await write("team/b", { policy: TEXT });
    expect(await list("sys/policies/acl/team")).toEqual(["team/a", "team/b"]);
    expect((await read("team/a", "sys/policy")).body.data.rules).toBe(TEXT);
  });

  it("takes the older field at the older path, and says so", async () => {
    const written = await write("old", { rules: TEXT }, "sys/policy");
    expect([written.status, written.body.warnings]).toEqual([
      200,
      ["'rules' is deprecated, please use 'policy' instead"],
    ]);
  });

  it.each([
    ["root", "POST", 'cannot update "root" policy'],
    ["ROOT", "POST", 'cannot update "root" policy'],
    [" root ", "POST", 'cannot update "root" policy'],
    ["response-wrapping", "POST", 'cannot update "response-wrapping" policy'],
    ["root", "DELETE", 'cannot delete "root" policy'],
    ["Root", "DELETE", 'cannot delete "root" policy'],
    ["default", "DELETE", "cannot delete default policy"],
    ["response-wrapping", "DELETE", 'cannot delete "response-wrapping" policy'],
  ])("%j can't be changed by %s", async (name, method, message) => {
    for (const at of ["sys/policies/acl", "sys/policy"]) {
      const path = `${at}/${encodeURIComponent(name)}`;
      const answer = await call(method, path, { token: root, body: { policy: TEXT } });
      expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
    }
  });

  it("a malformed policy is refused with its place, and nothing changes", async () => {
    await write("kept", { policy: TEXT });
    const answer = await write("kept", { policy: 'path "a" {\n  capabilities = ["banana"]\n}' });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatch(/^failed to parse policy: .*\(line 2, column \d+\)$/);
    expect((await read("kept")).body.data.policy).toBe(TEXT);
    for (const body of [{}, { policy: "" }]) {
      const empty = await write("kept", body);
      expect([empty.status, empty.body.errors]).toEqual([400, ["'policy' parameter not supplied or empty"]]);
    }
  });

  it("a change holds at once for tokens that have the policy", async () => {
    const token = (await createToken(root, { policies: ["live"], no_default_policy: true })).client_token;
    const allowed = async () => (await call("GET", "sys/policies/acl/live", { token })).status;
    expect(await allowed()).toBe(403);
    await write("live", { policy: 'path "sys/policies/acl/*" { capabilities = ["read"] }' });
    expect(await allowed()).toBe(200);
    await write("live", { policy: 'path "sys/policies/acl/*" { capabilities = ["deny"] }' });
    expect(await allowed()).toBe(403);
    await write("live", { policy: 'path "sys/policies/acl/*" { capabilities = ["read"] }' });
    await call("DELETE", "sys/policies/acl/live", { token: root });
    expect(await allowed()).toBe(403);
  });

  it("an isolate that did not write sees a change after POLICY_CACHE_SECONDS, and with 0 at once", async () => {
    const token = (await createToken(root, { policies: ["elsewhere"], no_default_policy: true })).client_token;
    await write("elsewhere", { policy: 'path "sys/policies/acl/*" { capabilities = ["read"] }' });
    const send = (seconds: string) =>
      app.fetch(
        new Request("http://grove.test/v1/sys/policies/acl/default", { headers: { "X-Vault-Token": token } }),
        { ...bindings, POLICY_CACHE_SECONDS: seconds },
        createExecutionContext(),
      );
    const status = async (seconds: string) => {
      const response = await send(seconds);
      await response.text();
      return response.status;
    };
    expect(await status("3600")).toBe(200);
    // As another isolate does: the object changes, and this isolate is not notified.
    await systemOf(bindings).deletePolicy("elsewhere", null, Date.now());
    expect(await status("3600")).toBe(200);
    expect(await status("0")).toBe(403);
    forgetInstallation();
  });

  it("what default gives, and what it does not", async () => {
    const token = (await createToken(root, { policies: ["default"] })).client_token;
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(200);
    expect((await call("POST", "auth/token/renew-self", { token })).status).toBe(200);
    expect((await call("POST", "auth/token/lookup-self", { token, body: {} })).status).toBe(403);
    expect((await call("POST", "auth/token/create", { token, body: {} })).status).toBe(403);
    expect((await call("POST", "auth/token/revoke-self", { token })).status).toBe(204);
  });

  it.each(
    [...DEFAULT_POLICY_TEXT.matchAll(/path "(.*)" \{\n {2}capabilities = \["(?:create", ")?(read|update)"/g)].map(
      ([, path = "", capability = ""]) => [path, capability === "read" ? "GET" : "POST"] as const,
    ),
  )("default grants %s, which is served", async (path, method) => {
    const { client_token: token } = await createToken(root, {});
    const asked = path.replace(/\{\{.*?\}\}|\*/g, "x");
    const answer = await call(method, asked, { token: asked.endsWith("revoke-self") ? token : root });
    expect(JSON.stringify(answer.body)).not.toMatch(/unsupported|no handler/);
  });
});

describe("a rule holds for every spelling of what it names", () => {
  it("of a policy: in any case, with blanks around it", async () => {
    await write("guarded", { policy: TEXT });
    const policy = `path "sys/policies/acl/*" { capabilities = ["create", "read", "update", "delete", "list"] }
      path "sys/policies/acl/guarded" { capabilities = ["deny"] }`;
    await write("delegate", { policy });
    const { client_token: token } = await createToken(root, { policies: ["delegate"] });
    for (const name of ["guarded", "Guarded", "%20guarded", "guarded%20", "%c2%a0GUARDED"]) {
      const path = `sys/policies/acl/${name}`;
      expect((await call("GET", path, { token })).status).toBe(403);
      expect((await call("POST", path, { token, body: { policy: TEXT } })).status).toBe(403);
      expect((await call("DELETE", path, { token })).status).toBe(403);
    }
    expect((await call("GET", "sys/policies/acl/Default", { token })).status).toBe(200);
    expect((await read("guarded")).body.data.version).toBe(1);
  });
});

it("a policy with more rules than can be kept is refused, whatever it is written in", async () => {
  const answer = await write("dense", { policy: `path{${"a{}".repeat(85_000)}}` });
  expect(answer).toMatchObject({
    status: 400,
    body: { errors: ["the policy has too many rules; divide it into several"] },
  });
  const wide = await write("wide", { policy: `path{${"語{}".repeat(50_000)}}` });
  expect(wide.status).toBe(400);
  expect((await read("dense")).status).toBe(404);
});

it("a list read page by page holds every name once, root among them", async () => {
  for (const name of ["a-page", "zz-page"]) await write(name, { policy: TEXT });
  for (const path of ["sys/policy", "sys/policies/acl", "sys/policies/detailed/acl"]) {
    const all: string[] = [...(await list(path))];
    for (const limit of [1, 2, all.length - 1, all.length]) {
      const paged: string[] = [];
      for (;;) {
        const answer = await call("GET", `${path}?list=true&limit=${limit}&after=${paged.at(-1) ?? ""}`, {
          token: root,
        });
        if (answer.status === 404) break;
        expect(answer.body.data.keys.length).toBeLessThanOrEqual(limit);
        paged.push(...answer.body.data.keys);
      }
      expect(paged).toEqual(all);
    }
  }
});

it("policies together stay small enough to be sent to every isolate", async () => {
  const policy = 'path "a"{policy="sudo"}'.repeat(11_000);
  let last = { status: 204 };
  let count = 0;
  for (; last.status === 204 && count < 50; count++) last = await write(`large-${count}`, { policy });
  expect(last).toMatchObject({
    status: 400,
    body: { errors: ["the policies of this installation would be too large; delete or shorten some"] },
  });
  for (let i = 0; i < count; i++) {
    expect((await call("DELETE", `sys/policies/acl/large-${i}`, { token: root })).status).toBe(204);
  }
});

describe("the largest page of a rule", () => {
  it("bounds every list, however the client asks for more", async () => {
    const paths = ["auth/token/accessors", "auth/token/roles", "sys/policies/acl", "sys/policy", "cubbyhole"];
    const rule = (path: string) => `path "${path}" { capabilities = ["list", "sudo"] pagination_limit = 1 }\n`;
    const storing = 'path "cubbyhole/+" { capabilities = ["create"] }';
    await write("paged", { policy: paths.map(rule).join("") + storing });
    const { client_token: token } = await createToken(root, { policies: ["paged"], no_default_policy: true });
    for (const name of ["a", "b"]) {
      await call("POST", `auth/token/roles/${name}`, { token: root, body: {} });
      expect((await call("POST", `cubbyhole/${name}`, { token, body: { a: 1 } })).status).toBe(204);
    }
    for (const path of paths) {
      for (const query of ["", "&limit=0", "&limit=max", "&limit=1"]) {
        const answer = await call("GET", `${path}?list=true${query}`, { token });
        expect([path, query, answer.status, answer.body.data?.keys.length]).toEqual([path, query, 200, 1]);
      }
      expect((await call("GET", `${path}?list=true&limit=2`, { token })).status).toBe(403);
      const whole = await call("GET", `${path}?list=true&limit=max`, { token: root });
      expect([path, whole.status]).toEqual([path, path === "cubbyhole" ? 404 : 200]);
    }
  });
});

describe("protected paths", () => {
  it("listing accessors needs sudo on top of list", async () => {
    await write("lister", { policy: 'path "auth/token/accessors" { capabilities = ["list"] }' });
    await write("sudo-lister", { policy: 'path "auth/token/accessors/" { capabilities = ["list", "sudo"] }' });
    const lister = (await createToken(root, { policies: ["lister"] })).client_token;
    const sudo = await createToken(root, { policies: ["sudo-lister"] });
    expect((await call("GET", "auth/token/accessors?list=true", { token: lister })).status).toBe(403);
    const answer = await call("GET", "auth/token/accessors?list=true", { token: sudo.client_token });
    expect(answer.status).toBe(200);
    expect(answer.body.data.keys).toContain(sudo.accessor);
  });

  it("the list of accessors goes by page without repeating or losing one", async () => {
    for (let i = 0; i < 30; i++) await createToken(root);
    const all = keysOf(await call("GET", "auth/token/accessors?list=true", { token: root }));
    const paged: string[] = [];
    for (let after = ""; ; ) {
      const page = await call("GET", `auth/token/accessors?list=true&limit=7&after=${after}`, { token: root });
      if (page.status === 404) break;
      const keys = keysOf(page);
      expect(keys.length).toBeLessThanOrEqual(7);
      paged.push(...keys);
      after = keys.at(-1) ?? "";
    }
    expect(paged).toEqual(all);
  });
});
