import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Api } from "../../../console/api.ts";
import { insideOf, leftOf } from "../../../console/tokens/inside.ts";
import { consoleToken } from "../../support/console-token.ts";

const WRAP = "w".repeat(84);
const INSIDE = "i".repeat(84);

/** The answers of the server by the end of the path. */
let answers: Record<string, unknown> = {};

beforeEach(() => {
  vi.stubGlobal("fetch", async (url: string | URL) => {
    const { pathname } = new URL(String(url), "https://grove.example.com");
    const found = Object.entries(answers).find(([end]) => pathname.endsWith(end));
    return Response.json(found ? { data: found[1] } : { errors: [] }, { status: found ? 200 : 404 });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const making = (inside?: string) => ({
  events: [{ response: { wrap_info: { accessor: WRAP, ...(inside && { wrapped_accessor: inside }) } } }],
  next: "",
});

it("what is in a live wrapping token is what the server finds in it", async () => {
  answers = { "sys/tokens/find": { wrapped_accessor: INSIDE } };
  expect(await insideOf(new Api("t"), WRAP)).toMatchObject({ ok: true, value: INSIDE });
  answers = { "sys/tokens/find": {} };
  expect(await insideOf(new Api("t"), WRAP)).toMatchObject({ ok: true, value: "" });
});

it("a receipt names the token that was in a wrapping token as long as it is alive", async () => {
  const token = consoleToken({ accessor: INSIDE });
  answers = { "sys/audit/events": making(INSIDE), [`sys/tokens/${INSIDE}`]: { token } };
  expect(await leftOf(new Api("t"), WRAP)).toMatchObject({ ok: true, value: { accessor: INSIDE } });
  answers[`sys/tokens/${INSIDE}`] = { token, ended: {} };
  expect(await leftOf(new Api("t"), WRAP)).toMatchObject({ ok: true, value: null });
  // A secret-id, and a token that wraps nothing.
  for (const events of [making("3ec50187-719e-463c-9e51-ded1453cb163"), making(), { events: [], next: "" }]) {
    answers = { "sys/audit/events": events, [`sys/tokens/${INSIDE}`]: { token } };
    expect(await leftOf(new Api("t"), WRAP)).toMatchObject({ ok: true, value: null });
  }
});
