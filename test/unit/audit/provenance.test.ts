import { describe, expect, it } from "vitest";
import { type EventsOf, MAX_BELOW, makersOf, tokensBelow } from "../../../src/audit/provenance.ts";
import type { AuditEvent } from "../../../src/audit/query.ts";
import type { AuditAuth, AuditLine } from "../../../src/wire/audit.ts";

const auth = (accessor: string): AuditAuth => ({
  accessor: accessor.startsWith("hmac") ? "" : accessor,
  ...(accessor.startsWith("hmac") && { token_hash: accessor }),
  display_name: accessor,
  policies: [],
  entity_id: "",
  token_type: "service",
  metadata: {},
});

/** A record that `maker` made `made`; null: a login gave it. */
function making(maker: string | null, made: string): AuditEvent {
  const line: AuditLine = {
    type: "response",
    time: "",
    via: "http",
    request_id: made,
    operation: "update",
    path: "auth/token/create",
    client_address: null,
    ...(maker?.startsWith("hmac") && { token_hash: maker }),
    auth: maker === null ? auth(made) : maker.startsWith("hmac") ? { ...auth(""), accessor: "" } : auth(maker),
    response: { auth: auth(made) },
  };
  return { seq: 0, storedAt: 0, at: 0, line: JSON.stringify(line) };
}

/** The events of a store, in pages of two. */
function storeOf(all: readonly (readonly [maker: string | null, made: string])[]): EventsOf {
  return async function* (accessor) {
    const own = all.filter((pair) => pair.includes(accessor)).map(([maker, made]) => making(maker, made));
    for (let from = 0; from === 0 || from < own.length; from += 2) yield own.slice(from, from + 2);
  };
}

const FAMILY = storeOf([
  [null, "login"],
  ["login", "a"],
  ["login", "b"],
  ["a", "a1"],
  ["a", "a2"],
  ["a", "hmac-batch"],
  ["a2", "a21"],
  ["hmac-batch", "of-batch"],
]);

describe("the descendants of a token, by the records of who made them", () => {
  it("are all that it made, and all that those made, level by level", async () => {
    const { tokens, complete } = await tokensBelow(FAMILY, "login");
    expect(complete).toBe(true);
    expect(tokens.map(({ accessor, maker, depth }) => [accessor, maker, depth])).toEqual([
      ["a", "login", 1],
      ["b", "login", 1],
      ["a1", "a", 2],
      ["a2", "a", 2],
      ["hmac-batch", "a", 2],
      ["a21", "a2", 3],
      ["of-batch", "hmac-batch", 3],
    ]);
    expect((await tokensBelow(FAMILY, "b")).tokens).toEqual([]);
  });

  it("are bounded, and the answer says so", async () => {
    const many = storeOf(Array.from({ length: MAX_BELOW + 5 }, (_, at) => ["root", `t${at}`] as const));
    const wide: EventsOf = async function* (accessor) {
      yield accessor === "root" ? Array.from({ length: MAX_BELOW + 5 }, (_, at) => making("root", `t${at}`)) : [];
    };
    expect((await tokensBelow(wide, "root")).tokens).toHaveLength(MAX_BELOW);
    expect((await tokensBelow(wide, "root")).complete).toBe(false);
    expect((await tokensBelow(many, "root")).complete).toBe(false);
  });

  it("are found in a finite time, also when records say that tokens made each other", async () => {
    const circle = storeOf([
      ["a", "b"],
      ["b", "a"],
    ]);
    expect((await tokensBelow(circle, "a")).tokens.map(({ accessor }) => accessor)).toEqual(["b"]);
    expect((await makersOf(circle, "a")).length).toBeLessThan(20);
  });
});

it("how a token was made goes up to a login", async () => {
  const makers = await makersOf(FAMILY, "a21");
  expect(makers.map(({ accessor, maker }) => [accessor, maker])).toEqual([
    ["a21", "a2"],
    ["a2", "a"],
    ["a", "login"],
    ["login", null],
  ]);
  expect(await makersOf(FAMILY, "unknown")).toEqual([]);
});

it("of a token whose making is not recorded only the pages before its first act are read", async () => {
  const { response: _, ...line } = JSON.parse(making("old", "x").line);
  const act: AuditEvent = { ...making("old", "x"), line: JSON.stringify(line) };
  let read = 0;
  const busy: EventsOf = async function* () {
    for (const page of [[], [act, act], [act], [making("other", "old")]]) {
      read++;
      yield page;
    }
  };
  expect(await makersOf(busy, "old")).toEqual([]);
  expect(read).toBe(2);
});
