import { beforeEach, describe, expect, it } from "vitest";
import { GroveClient } from "../../../../scripts/grove/client.ts";
import { generateRoot } from "../../../../scripts/grove/commands/generate-root.ts";

const SECRETS = { GROVE_INIT_TOKEN: " the-init-token\n", GROVE_SEAL_KEY: "1:key" };
const TOKEN = "s.a-root-token";
const OTP = "Zq0".repeat(5);

/** The refusal of a step; undefined: it is carried out. */
let refusals: Partial<Record<"attempt" | "update", string>>;
let asked: { readonly method: string; readonly path: string; readonly token: string; readonly body: unknown }[];
let out: string[];

beforeEach(() => {
  [refusals, asked, out] = [{}, [], []];
});

function make(cancel = false, environment: Record<string, string> = SECRETS) {
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ method, path, token, body }) => {
      asked.push({ method, path, token, body });
      const refusal = method === "POST" ? refusals[path.endsWith("/update") ? "update" : "attempt"] : undefined;
      if (refusal !== undefined) return { status: 400, retryAfter: null, text: JSON.stringify({ errors: [refusal] }) };
      const encoded = Buffer.from(TOKEN).map((byte, at) => byte ^ OTP.charCodeAt(at));
      const data = { nonce: "n", otp: OTP, encoded_token: Buffer.from(encoded).toString("base64").replace(/=+$/, "") };
      return { status: 200, retryAfter: null, text: JSON.stringify({ data }) };
    },
  });
  const terminal = {
    ...{ colours: false, interactive: false, columns: null, progress: () => {}, ask: async () => "", piped: false },
    ...{ secret: async () => "", lines: async function* () {}, say: () => {} },
    out: (line: string) => void out.push(line),
  };
  return generateRoot({ client, terminal, json: false }, cancel, environment);
}

describe("grove generate-root", () => {
  it("prints the token that the server encoded with the password of the attempt", async () => {
    expect(await make()).toEqual({ ok: true, value: 0 });
    expect(out).toEqual([TOKEN]);
    expect(asked.map(({ path, body }) => [path, body])).toEqual([
      ["/v1/sys/generate-root-token/attempt", {}],
      ["/v1/sys/generate-root-token/update", { nonce: "n", key: "1:key" }],
    ]);
    expect(new Set(asked.map(({ token }) => token))).toEqual(new Set(["the-init-token"]));
  });

  it("leaves no attempt open that the server has refused", async () => {
    refusals = { update: "the key is not the seal key" };
    expect(await make()).toMatchObject({ ok: false, error: { message: "the key is not the seal key" } });
    expect(asked.at(-1)).toMatchObject({ method: "DELETE", path: "/v1/sys/generate-root-token/attempt" });
    expect(out).toEqual([]);
  });

  it("begins another attempt when the server has ended the first one, and then says what may be the cause", async () => {
    refusals = { update: "no root generation in progress" };
    expect(await make()).toMatchObject({ error: { message: expect.stringContaining("could not complete it") } });
    expect(asked.map(({ method, path }) => `${method} ${path.split("/").at(-1)}`)).toEqual([
      ...["POST attempt", "POST update", "POST attempt", "POST update"],
      "DELETE attempt",
    ]);
  });

  it("says how an attempt of somebody else is ended, and ends it when that is asked for", async () => {
    refusals = { attempt: "root generation already in progress" };
    expect(await make()).toMatchObject({
      error: { message: expect.stringContaining("generate-root --cancel ends it") },
    });
    expect(asked.map(({ method }) => method)).toEqual(["POST"]);
    asked = [];
    expect(await make(true)).toEqual({ ok: true, value: 0 });
    expect(asked.map(({ method }) => method)).toEqual(["DELETE"]);
  });

  it.each(["GROVE_INIT_TOKEN", "GROVE_SEAL_KEY"])("asks nothing without %s", async (name) => {
    for (const text of ["", "with a space\u0001"]) {
      asked = [];
      const done = await make(false, { ...SECRETS, [name]: text });
      expect(done).toMatchObject({ ok: false, error: { message: expect.stringContaining(name) } });
      expect(asked).toEqual([]);
    }
  });
});
