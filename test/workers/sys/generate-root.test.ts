import { createExecutionContext } from "cloudflare:test";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import worker from "../../../src/index.ts";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { systemOf } from "../../../src/system/system.ts";
import { sinceScope } from "../../../src/system/watermarks.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, bodyOf, call, dataOf, initialized } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";

const INIT_TOKEN = "the-init-token-of-the-tests";
const SEAL_KEY = bindings.GROVE_SEAL_KEY ?? "";
const OTP = "o".repeat(86);

beforeAll(async () => {
  await initialized();
});

afterEach(async () => {
  vi.useRealTimers();
  await send("DELETE", "attempt");
});

interface Sent {
  readonly token?: string;
  readonly initToken?: string | null;
  readonly prefix?: string;
}

/** A call to a deployment with an init token (or, with null, one without). */
async function send(method: string, path: string, body?: unknown, sent: Sent = {}) {
  const { token = INIT_TOKEN, initToken = INIT_TOKEN, prefix = "sys/generate-root-token" } = sent;
  const env = initToken === null ? bindings : { ...bindings, GROVE_INIT_TOKEN: initToken };
  const request = new Request(`http://grove.test/v1/${prefix}/${path}`, {
    method,
    headers: { "X-Vault-Token": token },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const response = await worker.fetch(request, env, createExecutionContext());
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : (JSON.parse(text) as Record<string, never>) };
}

const begin = async (otp = OTP) => dataOf<{ nonce: string }>(await send("PUT", "attempt", { otp }));
const finish = (nonce: string, key = SEAL_KEY) => send("PUT", "update", { nonce, key });

/** What `bao operator generate-root -decode` does. */
function decode(encoded: string, otp: string): string {
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  return String.fromCharCode(...bytes.map((byte, i) => byte ^ otp.charCodeAt(i)));
}

const policiesOf = async (token: string) =>
  (await call("GET", "auth/token/lookup-self", { token })).body.data?.policies as unknown;

describe("a root token for operators who have lost theirs", () => {
  it("is made for a nonce, a key and an init token that were pasted with white space", async () => {
    const pasted = (text: string) => ` ${text.slice(0, 9)}\n${text.slice(9)}\t`;
    const { nonce } = await begin(pasted(OTP));
    const sent = { token: "the-init-token of-the-tests ", initToken: "the-init-tokenof-the-tests\n" };
    const made = await send("PUT", "update", { nonce: pasted(nonce), key: pasted(SEAL_KEY) }, sent);
    const token = decode(dataOf<{ encoded_token: string }>(made).encoded_token, OTP);
    expect(await policiesOf(token)).toEqual(["root"]);
    // A secret of white space alone is set by mistake. It admits nobody.
    expect((await send("PUT", "attempt", {}, { token: "", initToken: " \n" })).status).toBe(403);
  });

  it("is made for the seal key and readable with the one-time password alone", async () => {
    const { nonce } = await begin();
    expect((await send("GET", "attempt")).body?.data).toMatchObject({
      nonce,
      started: true,
      progress: 0,
      required: 1,
      complete: false,
      otp: "",
      otp_length: 86,
    });
    const done = dataOf<{ complete: boolean; encoded_token: string }>(await finish(nonce));
    expect(done.complete).toBe(true);
    expect(await policiesOf(decode(done.encoded_token, OTP))).toEqual(["root"]);
    // Once for each attempt.
    expect((await finish(nonce)).body).toMatchObject({ errors: ["no root generation in progress"] });
  });

  it.each([
    ["alone in base64", SEAL_KEY.split(":")[1] ?? ""],
    ["in hex", Buffer.from(SEAL_KEY.split(":")[1] ?? "", "base64").toString("hex")],
  ])("takes the seal key %s", async (_, key) => {
    const { nonce } = await begin();
    expect((await finish(nonce, key)).status).toBe(200);
  });

  it("makes a one-time password for a caller without one, in the answers that older clients read", async () => {
    const older = { prefix: "sys/generate-root" };
    const begun = bodyOf<{ nonce: string; otp: string }>(await send("PUT", "attempt", undefined, older));
    expect(begun.otp).toHaveLength(86);
    expect(JSON.stringify((await send("GET", "attempt", undefined, older)).body)).not.toContain(begun.otp);
    const done = await send("PUT", "update", { nonce: begun.nonce, key: SEAL_KEY }, older);
    const { encoded_root_token: encoded } = bodyOf<{ encoded_root_token: string }>(done);
    expect(await policiesOf(decode(encoded, begun.otp))).toEqual(["root"]);
  });

  it("is valid although all that was issued since a moment was ended, as by a restore", async () => {
    const scope = sinceScope(Date.now() - 1);
    await systemOf(bindings).addWatermark({ id: "since", scope, createdBefore: null }, Date.now());
    forgetInstallation();
    const { nonce } = await begin();
    const { encoded_token: encoded } = dataOf<{ encoded_token: string }>(await finish(nonce));
    expect(await policiesOf(decode(encoded, OTP))).toEqual(["root"]);
  });

  it("of two at once one gets it", async () => {
    const { nonce } = await begin();
    const answers = await Promise.all([finish(nonce), finish(nonce), finish(nonce)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
  });
});

describe("an attempt", () => {
  it("with the one-time password of another, put there in the storage, makes no token", async () => {
    await begin();
    const [earlier] = await rowsOf(systemOf(bindings), "root_generation");
    await send("DELETE", "attempt");
    const { nonce } = await begin("x".repeat(86));
    await changeRows(systemOf(bindings), "root_generation", { otp: earlier?.otp ?? null });
    expect((await finish(nonce)).body?.errors).toEqual([expect.stringContaining("tampered with")]);
  });

  it("is one at a time, until it is canceled or an hour old", async () => {
    const { nonce } = await begin();
    expect((await send("PUT", "attempt", { otp: OTP })).body).toEqual({
      errors: ["root generation already in progress"],
    });
    expect((await send("DELETE", "attempt")).status).toBe(204);
    expect((await finish(nonce)).status).toBe(400);
    const second = await begin();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_001 });
    expect((await finish(second.nonce)).status).toBe(400);
    expect((await begin()).nonce).not.toBe(second.nonce);
  });

  it.each([
    ["another nonce", { nonce: "x", key: SEAL_KEY }, "incorrect nonce supplied"],
    ["no nonce", { key: SEAL_KEY }, "nonce is required"],
    ["another key", { key: `1:${btoa("x".repeat(32))}` }, "the key is not the seal key"],
    ["something that is no key", { key: "garbage" }, "the key is not the seal key"],
    ["no key", {}, "key is required"],
  ])("with %s makes no token and stays open", async (_, body, error) => {
    const { nonce } = await begin();
    const refused = await send("PUT", "update", error.startsWith("nonce") ? body : { nonce, ...body });
    expect([refused.status, String(refused.body?.errors)]).toEqual([400, expect.stringContaining(error)]);
    expect((await finish(nonce)).status).toBe(200);
  });

  it("ends after five tries of a nonce or a key, many at once too", async () => {
    const { nonce } = await begin();
    const wrong = `1:${btoa("x".repeat(32))}`;
    const guesses = await Promise.all([finish("x"), ...Array.from({ length: 9 }, () => finish(nonce, wrong))]);
    const errors = guesses.map(({ body }) => String(body?.errors));
    expect(errors.filter((error) => error === "no root generation in progress")).toHaveLength(5);
    expect(errors.filter((error) => error.includes("ends after 5 tries"))).toHaveLength(1);
    expect((await send("GET", "attempt")).body?.data).toMatchObject({ started: false, nonce: "" });
    expect((await finish(nonce)).body).toMatchObject({ errors: ["no root generation in progress"] });
  });

  it("takes the right key at the last try", async () => {
    const { nonce } = await begin();
    for (let i = 0; i < 4; i++) expect((await finish(nonce, "garbage")).status).toBe(400);
    expect((await finish(nonce)).status).toBe(200);
  });

  it("with a one-time password of another length, or a PGP key, is not opened", async () => {
    for (const body of [{ otp: "short" }, { otp: "ö".repeat(86) }, { pgp_key: "x" }]) {
      expect((await send("PUT", "attempt", body)).status).toBe(400);
    }
    expect((await send("GET", "attempt")).body?.data).toMatchObject({ started: false, nonce: "" });
  });
});

describe("who may", () => {
  const calls = [
    ["GET", "attempt"],
    ["PUT", "attempt"],
    ["DELETE", "attempt"],
    ["PUT", "update"],
  ] as const;

  it.each(calls)("%s %s: nobody without the init token, and nobody where none is set", async (method, path) => {
    const { nonce } = await begin();
    const body = method === "PUT" ? { nonce, key: SEAL_KEY, otp: OTP } : undefined;
    for (const sent of [{ token: "" }, { token: "wrong" }, { initToken: null }, { initToken: null, token: "" }]) {
      expect((await send(method, path, body, sent)).status).toBe(403);
    }
    expect((await send("GET", "attempt")).body?.data).toMatchObject({ nonce });
  });

  it("every call is on record, without a secret", async () => {
    const log = vi.spyOn(console, "log").mockReturnValue(undefined);
    const { nonce } = await begin();
    await send("PUT", "update", { nonce, key: SEAL_KEY }, { token: "wrong" });
    const done = await finish(nonce);
    await send("DELETE", "attempt");
    const lines = log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('"generate_root"'));
    const steps = lines.map((line) => JSON.parse(line) as { step: string; wanted: string });
    expect(steps.map(({ step, wanted }) => [step, wanted])).toEqual([
      ["started", "started"],
      ["refused", "completed"],
      ["completed", "completed"],
      ["canceled", "canceled"],
    ]);
    const encoded = String((done.body?.data as Record<string, unknown> | undefined)?.encoded_token);
    for (const secret of [OTP, SEAL_KEY, INIT_TOKEN, encoded, decode(encoded, OTP)]) {
      expect(log.mock.calls.flat().join("\n")).not.toContain(secret);
    }
  });
});
