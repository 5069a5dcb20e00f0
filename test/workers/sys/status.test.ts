import { createExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import worker from "../../../src/index.ts";
import { bindings, call, createToken, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe("sys/ha-status", () => {
  it("shows one active node, by the name that the client called", async () => {
    const answer = await call("GET", "sys/ha-status", { token: root });
    expect(answer.status).toBe(200);
    expect(answer.body.data.nodes).toEqual([
      {
        hostname: "grove.test",
        api_address: "http://grove.test",
        cluster_address: "",
        active_node: true,
        last_echo: null,
        version: "2.6.2",
      },
    ]);
    expect(answer.body.nodes).toEqual(answer.body.data.nodes);
  });

  it("is for callers whose policies allow it", async () => {
    const { client_token } = await createToken(root, { policies: ["default"] });
    expect((await call("GET", "sys/ha-status", { token: client_token })).status).toBe(403);
    expect((await call("GET", "sys/ha-status")).status).toBe(403);
  });
});

describe("the discovery document of the Terraform ecosystem", () => {
  const ask = (method: string, path: string) =>
    worker.fetch(new Request(`https://grove.test${path}`, { method }), bindings, createExecutionContext());

  it("says without a token where the interface of teams is", async () => {
    const answer = await ask("GET", "/.well-known/terraform.json");
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "application/json"]);
    expect(await answer.json()).toEqual({ "tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/", "tfe.v2.2": "/api/v2/" });
  });

  it("is all there is without a token", async () => {
    expect((await ask("POST", "/.well-known/terraform.json")).status).toBe(403);
    expect((await ask("GET", "/.well-known/other.json")).status).toBe(403);
  });
});
