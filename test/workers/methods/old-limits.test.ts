import { beforeAll, describe, expect, it } from "vitest";
import { call, initialized } from "../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

describe("older names of limits in a role", () => {
  it.each([
    ["jwt", { role_type: "jwt", user_claim: "sub", bound_audiences: "grove" }],
    ["kubernetes", { bound_service_account_names: "a", bound_service_account_namespaces: "b" }],
  ])("hold, and are shown until the new ones are written: %s", async (type, body) => {
    const write = async (fields: object) =>
      (await call("POST", `auth/${type}/role/r`, { token: root, body: { ...body, ...fields } })).status;
    const read = async () => (await call("GET", `auth/${type}/role/r`, { token: root })).body.data;
    await call("POST", `sys/auth/${type}`, { token: root, body: { type } });

    expect(await write({ num_uses: 3, bound_cidrs: "192.0.2.0/24" })).toBe(204);
    expect(await read()).toMatchObject({
      ...{ num_uses: 3, token_num_uses: 3 },
      ...{ bound_cidrs: ["192.0.2.0/24"], token_bound_cidrs: ["192.0.2.0/24"] },
    });
    expect(await write({ num_uses: 4, token_num_uses: 5, token_bound_cidrs: "198.51.100.0/24" })).toBe(204);
    const data = await read();
    expect(data).toMatchObject({ token_num_uses: 5, token_bound_cidrs: ["198.51.100.0/24"] });
    expect(data).not.toHaveProperty("bound_cidrs");
    for (const wrong of [{ num_uses: -1 }, { bound_cidrs: "192.0.2.0/33" }]) expect(await write(wrong)).toBe(400);
  });
});
