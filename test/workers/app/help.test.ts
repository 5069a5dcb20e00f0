import { beforeAll, describe, expect, it } from "vitest";
import { call, createToken, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

async function help(path: string, token = root) {
  const { status, body } = await call("GET", `${path}?help=1`, { token });
  return { status, help: String(body?.help ?? ""), body };
}

describe("?help", () => {
  it("tells what an endpoint takes", async () => {
    const { status, help: text, body } = await help("auth/token/create");
    expect(status).toBe(200);
    expect(text).toContain("Matching Route: create");
    expect(text).toContain("    explicit_max_ttl");
    expect(body).toMatchObject({ see_also: null });
  });

  it.each(["auth/token", "sys", "identity", "cubbyhole"])("lists what is below %s", async (path) => {
    expect(await help(path)).toMatchObject({ status: 200, help: expect.stringContaining("    ") });
  });

  it("answers for paths with names in them", async () => {
    expect((await help("sys/policies/acl/ci")).help).toContain("sys/policies/acl/:name");
    expect((await help("cubbyhole/some/where")).help).toContain("LIST");
  });

  it("is for every caller with a token, and for nobody without one", async () => {
    const { client_token } = await createToken(root, { policies: ["default"], ttl: "1m" });
    expect((await help("auth/token/roles/ci", client_token)).status).toBe(200);
    expect((await help("auth/token/create", "s.unknown")).status).toBe(403);
    expect((await call("GET", "auth/token/create?help=1")).status).toBe(403);
  });

  it("is a 404 where nothing is", async () => {
    expect((await help("auth/none/login")).status).toBe(404);
    expect((await help("sys/nothing")).status).toBe(404);
    expect((await help("auth/token/nothing")).status).toBe(404);
  });
});
