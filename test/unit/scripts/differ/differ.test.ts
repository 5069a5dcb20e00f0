import { describe, expect, it } from "vitest";
import { parseDifferArguments } from "../../../../scripts/differ/arguments.ts";
import { differences } from "../../../../scripts/differ/compare.ts";
import { renderReport } from "../../../../scripts/differ/report.ts";
import { Choices } from "../../../../scripts/local/choices.ts";

const answer = (body: unknown, status = 200) => ({ status, body });
const found = (reference: unknown, tested: unknown, texts = false) =>
  differences(answer(reference), answer(tested), texts).map(({ where }) => where);

describe("the differences of two answers", () => {
  it("are values, missing keys and longer lists, by their place", () => {
    expect(found({ data: { a: 1, b: [{ c: 1 }] } }, { data: { a: 1, b: [{ c: 1 }] } })).toEqual([]);
    expect(found({ data: { a: 1, b: [{ c: 1 }] } }, { data: { a: 2, b: [{ c: null }] } })).toEqual([
      "data.a",
      "data.b[].c",
    ]);
    expect(found({ data: { a: 1 } }, { data: {} })).toEqual(["data.a"]);
    expect(found({ warnings: ["x"] }, { warnings: ["x", "y"] })).toEqual(["warnings"]);
  });

  it("are not what each server chooses by itself, unless one has none", () => {
    const one = {
      request_id: "a",
      auth: { client_token: "s.x", accessor: "y" },
      data: { id: "6b0cf2e4-0000-4000-8000-000000000000" },
    };
    const two = { request_id: "b", auth: { client_token: "s.z", accessor: "" }, data: { id: "" } };
    expect(found(one, { ...one, request_id: "c" })).toEqual([]);
    expect(found(one, two)).toEqual(["auth.accessor", "data.id"]);
  });

  it("are not seconds that pass meanwhile", () => {
    expect(found({ data: { ttl: 3600 } }, { data: { ttl: 3598 } })).toEqual([]);
    expect(found({ data: { ttl: 3600 } }, { data: { ttl: 3000 } })).toEqual(["data.ttl"]);
  });

  it("of refusals are the status, and the text where asked for, without the frame around some", () => {
    const framed = answer({ errors: ["1 error occurred:\n\t* no such thing\n\n"] }, 400);
    expect(differences(framed, answer({ errors: ["no such thing"] }, 400), true)).toEqual([]);
    expect(differences(framed, answer({ errors: ["other"] }, 400), false)).toEqual([]);
    expect(differences(framed, answer({ errors: ["other"] }, 400), true)).toHaveLength(1);
    expect(differences(framed, answer({ errors: ["no such thing"] }, 404), false)).toMatchObject([{ where: "status" }]);
  });
});

it("random choices come again with their seed, and differ with another", () => {
  const made = (seed: string) => {
    const choices = new Choices(seed);
    return Array.from({ length: 20 }, () => choices.below(1000));
  };
  expect(made("1/tokens/0")).toEqual(made("1/tokens/0"));
  expect(made("1/tokens/0")).not.toEqual(made("1/tokens/1"));
});

it("a report groups what is the same, and leaves out what is explained", () => {
  const finding = {
    request: "GET x",
    where: "data.a",
    reference: "1",
    tested: "2",
    round: "tokens 0",
    ask: { method: "GET", path: "x" },
  } as const;
  const meant = { ...finding, where: "status", reference: "500", tested: "400" };
  const report = renderReport(9, [finding, finding, meant], false);
  expect(report).toContain("2 x GET x  data.a");
  expect(report).toContain("2 unexplained differences in 1 groups, 1 that docs/compatibility.md explains");
  expect(report).not.toContain("500");
  expect(renderReport(9, [meant], true)).toContain("explained: a client's mistake");
});

it("the arguments name both servers", () => {
  expect(parseDifferArguments(["http://a", "t", "http://b", "u", "--only", "tokens", "--seed", "x"])).toMatchObject({
    ok: true,
    value: {
      reference: { url: "http://a", token: "t" },
      tested: { url: "http://b", token: "u" },
      areas: ["tokens"],
      seed: "x",
    },
  });
  for (const argv of [
    [],
    ["http://a", "t", "http://b"],
    ["a", "t", "b", "u"],
    ["http://a", "t", "http://b", "u", "--only", "x"],
  ]) {
    expect(parseDifferArguments(argv).ok).toBe(false);
  }
});
