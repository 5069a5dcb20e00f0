import { createExecutionContext } from "cloudflare:test";
import { exportSPKI, generateKeyPair, SignJWT } from "jose";
import { beforeAll, beforeEach, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import worker from "../../../src/index.ts";
import { forgetCopies } from "../../../src/methods/aws/mount/login-settings.ts";
import { DocumentSigner, documentOf } from "../../support/cloud-login.ts";
import { HOME, mountCloud } from "../../support/cloud-mount.ts";
import { FakeCloud } from "../../support/fake-cloud/fake-cloud.ts";
import { replaceInternet } from "../../support/fake-cloud/outbound.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";
import { createOrganization, createTeam, generateToken } from "../../support/teams.ts";
import { holdSweeps } from "../../support/trees.ts";

/** A request, by what it is. */
interface Flow {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
}

const cloud = new FakeCloud();
const signer = new DocumentSigner();
let flows: Record<string, () => Promise<Flow>>;

beforeEach(holdSweeps);

beforeAll(async () => {
  const root = await initialized();
  replaceInternet(cloud);
  const mount = await mountCloud(root, "cloud", cloud, signer);
  await mount.write("role/web", { auth_type: "vm", bound_account_id: HOME });
  const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
  const write = (path: string, body: object) => call("POST", path, { token: root, body });
  await write("sys/auth/jwt", { type: "jwt" });
  await write("auth/jwt/config", { jwt_validation_pubkeys: await exportSPKI(publicKey) });
  await write("auth/jwt/role/ci", { role_type: "jwt", user_claim: "sub", bound_audiences: "grove" });
  const jwt = await new SignJWT({ sub: "job", aud: "grove" })
    .setProtectedHeader({ alg: "RS256" })
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(privateKey);
  const team = await createTeam(root, await createOrganization(root, "acme"), "ops");
  const { text } = await generateToken(root, team);
  const { client_token: maker } = await createToken(root, { policies: ["root"] });
  flows = {
    "creation of a child": async () => ({ path: "auth/token/create", token: maker, body: { ttl: "1h" } }),
    "login by a vm document": async () => {
      const { pkcs7 } = signer.sign(documentOf(cloud.world.addInstance(HOME, "eu-west-1")));
      return { path: "auth/cloud/login", body: { role: "web", pkcs7 } };
    },
    "login by a JWT": async () => ({ path: "auth/jwt/login", body: { role: "ci", jwt } }),
    "use of a team token": async () => ({ method: "GET", path: `teams/${team}`, token: text }),
    "look-up": async () => ({ method: "GET", path: "auth/token/lookup-self", token: maker }),
  };
});

type Noted = (ask: unknown, answer: Promise<object>) => Promise<object>;

/** The objects of a class for a Worker, whose calls of one method are noted. What `noted` returns is answered. */
function noting<T extends DurableObjectNamespace>(objects: T, method: string, noted: Noted): T {
  const stubOf = (name: string) => {
    const stub = objects.getByName(name);
    const call: (ask: unknown) => Promise<object> = Reflect.get(stub, method);
    return new Proxy(stub, {
      get: (_, key) => (key === method ? (ask: unknown) => noted(ask, call(ask)) : Reflect.get(stub, key)),
    });
  };
  return new Proxy(objects, {
    get(_, key) {
      const value: unknown = key === "getByName" ? stubOf : Reflect.get(objects, key);
      return typeof value === "function" ? value.bind(objects) : value;
    },
  });
}

/** Sends the request of a flow to a Worker with this environment. */
async function send(flow: string, env: Env): Promise<void> {
  const made = await flows[flow]?.();
  if (!made) throw new Error(`no flow ${flow}`);
  const { method = "POST", path, token, body } = made;
  const headers = token === undefined ? {} : { "X-Vault-Token": token };
  const init = { method, headers, body: body ? JSON.stringify(body) : null };
  const answer = await worker.fetch(new Request(`http://grove.test/v1/${path}`, init), env, createExecutionContext());
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
}

const WITHOUT_COPIES = { POLICY_CACHE_SECONDS: "0", POLICY_GRACE_SECONDS: "0" };

it.each([
  ["look-up", 1],
  ["creation of a child", 1],
  ["use of a team token", 1],
  // A login can wait for a cloud or an issuer: before it issues, it looks once more whether its mount is still there.
  ["login by a JWT", 2],
  ["login by a vm document", 2],
])("the Worker loads the installation once: %s", async (flow, times) => {
  let loads = 0;
  // Without copies the system object is asked each time that the installation is loaded.
  const SYSTEM = noting(bindings.SYSTEM, "snapshot", (_, answer) => {
    loads++;
    return answer;
  });
  await send(flow, { ...bindings, ...WITHOUT_COPIES, SYSTEM });
  expect(loads).toBe(times);
});

it.each(["look-up", "creation of a child", "use of a team token", "login by a JWT", "login by a vm document"])(
  "the Worker parses the settings of copies once: %s",
  async (flow) => {
    const read: PropertyKey[] = [];
    const settings = new Set<PropertyKey>(Object.keys(WITHOUT_COPIES));
    const env = new Proxy(bindings, {
      get(target, name) {
        if (settings.has(name)) read.push(name);
        return Reflect.get(target, name);
      },
    });
    await send(flow, env);
    await send(flow, env);
    expect(read).toEqual([...settings]);
  },
);

it("a login by a vm document asks for each part of its configuration once", async () => {
  forgetCopies();
  const asks: unknown[] = [];
  // Copies of another state than the announced one are not used without asking.
  const CLOUD_AUTH = noting(bindings.CLOUD_AUTH, "readForLogin", async (ask, answer) => {
    asks.push(ask);
    return { ...(await answer), state: -1 };
  });
  await send("login by a vm document", { ...bindings, ...WITHOUT_COPIES, CLOUD_AUTH });
  expect(asks).toEqual([
    { settings: true, roleName: "web", accountId: null },
    { settings: false, roleName: null, accountId: HOME },
  ]);
});
