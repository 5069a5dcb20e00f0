import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { readDeclaration } from "../../../scripts/declare/declaration.ts";
import { startDeclared } from "../../../scripts/declare/declared-start.ts";
import { applyRequests, stepFor } from "../../../scripts/declare/plan-step.ts";
import { sourcesOf } from "../../../scripts/declare/sources.ts";
import type { Send } from "../../../scripts/grove/client.ts";
import { TokenAuthority } from "../../../src/rpc/token-authority.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { clientWith, endingAtFirstWrite, INIT_TOKEN, send } from "../../support/declared-start.ts";
import { ISSUER, type Issuer, newIssuer } from "../../support/issuer.ts";
import { crash } from "../../support/objects.ts";
import { bindings, call, dataOf, keysOf } from "../../support/service.ts";

const ADMIN = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }';

let issuer: Issuer;

function declaration(pem: string) {
  const read = readDeclaration(
    `
    initialize "policies" {
      request "admin" { operation = "update" path = "sys/policies/acl/admin" data { policy = <<EOT
${ADMIN}
EOT
      } }
    }
    initialize "login" {
      request "mount" {
        operation = "create"
        path = "sys/auth/work"
        data = { type = "jwt" description = "people" config = { listing_visibility = "unauth" max_lease_ttl = "8h" } }
      }
      request "config" {
        operation = "update"
        path = "auth/work/config"
        data = { bound_issuer = "${ISSUER}" jwt_validation_pubkeys = [{ eval_type = "string" eval_source = "env" env_var = "PEM" }] }
      }
      request "admins" {
        operation = "update"
        path = "auth/work/role/admins"
        data = { role_type = "jwt" user_claim = "sub" bound_audiences = "grove" token_policies = ["admin"] token_ttl = "1h" }
      }
      request "rest" { operation = "update" path = "sys/auth/approle" data = { type = "approle" } }
      request "worker" { operation = "update" path = "auth/approle/role/worker" data = { token_ttl = 600 secret_id_num_uses = 1 } }
    }
    initialize "limits" {
      request "all" { operation = "update" path = "sys/quotas/rate-limit/all" data = { rate = 500 } }
    }`,
    sourcesOf("/", { PEM: pem }),
  );
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return read.value;
}

const begin = (token: string) =>
  send({ method: "PUT", path: "/v1/sys/init/begin", token, body: undefined }).then(({ status, text }) => ({
    status,
    body: JSON.parse(text),
  }));

beforeAll(async () => {
  issuer = await newIssuer("ES256");
});

/** Counts from now on how often something waits until no isolate uses a copy of the installation from before. */
function untilInEffect(): () => number {
  const waits = vi.spyOn(scheduler, "wait");
  return () => waits.mock.calls.filter(([ms]) => ms === 6_000).length;
}

/** In order: the installation of this file goes through its start. */
describe("a declared start", () => {
  it("is begun by the init token alone, which the deployment must have", async () => {
    expect((await call("PUT", "sys/init/begin")).status).toBe(403);
    expect((await call("PUT", "sys/init/begin", { token: INIT_TOKEN })).status).toBe(403);
    expect((await begin("another")).status).toBe(403);
    expect((await begin("")).status).toBe(403);
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
  });

  it("is begun again when no isolate knows the setup token of before", async () => {
    const waited = untilInEffect();
    for (const times of [0, 1, 2]) expect([(await begin(INIT_TOKEN)).status, waited()]).toEqual([200, times]);
  });

  it("serves its setup token and nobody else, wherever it was interrupted", async () => {
    const { requests } = declaration(issuer.pem);
    const tokens: string[] = [];
    for (const at of requests.keys()) {
      for (const when of ["before", "after"] as const) {
        const begun = await begin(INIT_TOKEN);
        expect(begun.status).toBe(200);
        const token: string = begun.body.data.setup_token;
        tokens.push(token);
        const outcome = await applyRequests(clientWith(token, endingAtFirstWrite(when)), requests);
        // Every run ends at its first write: what the earlier ones wrote is not written again.
        expect(outcome.refused?.request.name).toBe(requests[at]?.name);
        await crash(systemOf(bindings));
        forgetInstallation();

        expect((await call("GET", "sys/health")).status).toBe(501);
        expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
        for (const [method, path, other] of [
          ["GET", "auth/token/lookup-self", tokens.at(-2)],
          ["GET", "sys/policies/acl/admin", INIT_TOKEN],
          ["POST", "auth/work/login", undefined],
          ["POST", "auth/approle/login", undefined],
          ["GET", "sys/internal/ui/mounts", undefined],
          ["POST", "sys/init/finish", tokens.at(-2)],
          ["POST", "sys/init/finish", token.replace(/.$/, (end) => (end === "A" ? "E" : "A"))],
        ] as const) {
          const answer = await call(method, path, { ...(other !== undefined && { token: other }) });
          expect([path, answer.status]).toEqual([path, 503]);
          expect(String(answer.body.errors)).toContain("is not complete");
        }
        const asked = await new TokenAuthority(createExecutionContext(), bindings).lookup(token);
        expect(asked).toMatchObject({ found: false, reason: "unavailable" });
        const init = await send({ method: "PUT", path: "/v1/sys/init", token: INIT_TOKEN, body: undefined });
        expect([init.status, init.text]).toEqual([400, expect.stringContaining("has begun")]);
        expect((await call("GET", "auth/token/lookup-self", { token })).body.data.policies).toEqual(["root"]);
      }
    }
  });

  it("is completed by the same file, by one of two programs, and leaves no token that anybody could use", async () => {
    const declared = declaration(issuer.pem);
    // A call that has no answer is no end.
    const cut: Send = async (request) => {
      if (request.path.endsWith("sys/init/finish")) throw new Error("the connection ended here");
      return send(request);
    };
    const broken = { as: (token: string) => clientWith(token, cut), initToken: INIT_TOKEN, warn: expect.fail };
    expect((await startDeclared(broken, declared)).ok).toBe(false);
    const withoutType = declared.requests.map((one) => ({ ...one, path: "sys/auth/no-type", data: {} }));
    const refused = { ...declared, requests: withoutType };
    const outcome = { kind: "refused", outcome: expect.anything() };
    expect(await startDeclared({ ...broken, as: clientWith }, refused)).toEqual({ ok: true, value: outcome });
    expect((await call("GET", "sys/init")).body).toEqual({ initialized: false });
    const used: string[] = [];
    const waited = untilInEffect();
    const finishes: number[] = [];
    const finishing: Send = async (request) => {
      const before = waited();
      const answer = await send(request);
      if (request.path.endsWith("sys/init/finish")) finishes.push(waited() - before);
      return answer;
    };
    const as = (token: string) => {
      used.push(token);
      return clientWith(token, finishing);
    };
    const warn = (line: string) => expect.fail(line);
    let other: Promise<unknown> | null = null;
    // Another node takes the start over after this one has begun it, and completes it meanwhile.
    const overtaken: Send = async (request) => {
      if (request.token.startsWith("grove-setup.")) {
        other ??= startDeclared({ as, initToken: INIT_TOKEN, warn }, declared);
        await other;
      }
      return send(request);
    };
    const late = { as: (token: string) => clientWith(token, overtaken), initToken: INIT_TOKEN, warn };
    expect(await startDeclared(late, declared)).toEqual({ ok: true, value: { kind: "initialized" } });
    expect(await other).toEqual({ ok: true, value: { kind: "started", rootToken: "" } });
    expect(finishes).toEqual([1]);
    const setup = used.find((token) => token.startsWith("grove-setup."));
    expect((await call("GET", "auth/token/lookup-self", { token: setup ?? "" })).status).toBe(403);
    expect((await call("POST", "sys/init/finish", { token: setup ?? "" })).status).toBe(403);
    expect((await begin(INIT_TOKEN)).body).toEqual({ errors: ["Grove is already initialized"] });
    expect((await call("GET", "sys/health")).status).toBe(200);
  });

  it("lets people in by what it declares, and there is no token but theirs", async () => {
    const jwt = await issuer.sign({ sub: "ann" });
    const login = await call("POST", "auth/work/login", { body: { role: "admins", jwt } });
    expect(login.status).toBe(200);
    const token = login.body.auth.client_token;
    const accessors = keysOf(await call("GET", "auth/token/accessors?list=true", { token }));
    expect(accessors).toEqual([login.body.auth.accessor]);
    expect((await call("POST", "sys/init/finish", { token })).body.errors).toEqual(["no declared start is under way"]);
  });

  it("is done once: a later start finds everything there, and the file has no differences", async () => {
    const declared = declaration(issuer.pem);
    const warn = (line: string) => expect.fail(line);
    const start = await startDeclared({ as: clientWith, initToken: INIT_TOKEN, warn }, declared);
    expect(start).toEqual({ ok: true, value: { kind: "initialized" } });
    const jwt = await issuer.sign({ sub: "ann" });
    const { client_token: token } = dataOf<never>({
      body: { data: (await call("POST", "auth/work/login", { body: { role: "admins", jwt } })).body.auth },
    });
    for (const request of declared.requests) {
      expect(await stepFor(clientWith(token), request)).toMatchObject({ ok: true, value: { action: "none" } });
    }
  });
});
