import { describe, expect, it } from "vitest";
import {
  type EventsOf,
  MAX_BELOW,
  MAX_PAGES,
  makersOf,
  type ReadPage,
  tokensBelow,
} from "../../../src/audit/provenance.ts";
import type { AuditEvent } from "../../../src/audit/query.ts";
import {
  type EventCursor,
  type LineagePlace,
  readLineageCursor,
  writeLineageCursor,
} from "../../../src/audit/search.ts";
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

type Pair = readonly [maker: string | null, made: string];

/** The events of a store in pages of two; the cursor is the number of an event. */
function pagesOf(all: readonly Pair[]): ReadPage {
  const at = (number: number): EventCursor => ({ 0: [1, number] });
  return async (accessor, cursor) => {
    const own = all.filter((pair) => pair.includes(accessor));
    const from = cursor[0]?.[1] ?? 0;
    const events = own.slice(from, from + 2).map(([maker, made], place) => ({
      event: making(maker, made),
      after: at(from + place + 1),
    }));
    return { events, next: from + 2 < own.length ? at(from + 2) : null };
  };
}

const from = (accessor: string): LineagePlace[] => [{ accessor, cursor: {} }];

/** All descendants, answer by answer, each of which begins where a client says that the one before has ended. */
async function allBelow(readPage: ReadPage, accessor: string) {
  const found: string[][] = [];
  for (let places: readonly LineagePlace[] | null = from(accessor); places; ) {
    const { tokens, next }: Awaited<ReturnType<typeof tokensBelow>> = await tokensBelow(readPage, places);
    found.push(tokens.map((token) => token.accessor));
    places = next && readLineageCursor(writeLineageCursor(next) ?? "");
  }
  return found;
}

const PAIRS: readonly Pair[] = [
  [null, "login"],
  ["login", "a"],
  ["login", "b"],
  ["a", "a1"],
  ["a", "a2"],
  ["a", "hmac-batch"],
  ["a2", "a21"],
  ["hmac-batch", "of-batch"],
];
const FAMILY = storeOf(PAIRS);

describe("the descendants of a token, by the records of who made them", () => {
  it("are all that it made, each followed by those that it made", async () => {
    const { tokens, next } = await tokensBelow(pagesOf(PAIRS), from("login"));
    expect(next).toBe(null);
    expect(tokens.map(({ accessor, maker, depth }) => [accessor, maker, depth])).toEqual([
      ["a", "login", 1],
      ["a1", "a", 2],
      ["a2", "a", 2],
      ["a21", "a2", 3],
      ["hmac-batch", "a", 2],
      ["of-batch", "hmac-batch", 3],
      ["b", "login", 1],
    ]);
    expect((await tokensBelow(pagesOf(PAIRS), from("b"))).tokens).toEqual([]);
    // A record can be stored twice. What its token made is read once.
    const read: string[] = [];
    const store = pagesOf([["login", "a"], ...PAIRS]);
    const asked: ReadPage = (accessor, cursor) => {
      read.push(accessor);
      return store(accessor, cursor);
    };
    expect((await tokensBelow(asked, from("login"))).tokens).toEqual(tokens);
    expect(read.filter((accessor) => accessor === "a21")).toHaveLength(1);
  });

  it("come in several answers, each once, when they are many or deep", async () => {
    const wide: Pair[] = Array.from({ length: 2 * MAX_BELOW + 5 }, (_, at) => ["root", `t${at}`]);
    const name = (at: number) => `${"d".repeat(80)}${at}`;
    const deep: Pair[] = Array.from({ length: 2 * MAX_PAGES }, (_, at) => [name(at), name(at + 1)]);
    for (const pairs of [
      wide,
      deep.slice(0, 50),
      [...wide.slice(0, 300), ["t7", "x"], ["x", "y"], ["t299", "z"]] as Pair[],
    ]) {
      const top = pairs[0]?.[0] ?? "";
      const found = await allBelow(pagesOf(pairs), top);
      expect(found.every((tokens) => tokens.length <= MAX_BELOW)).toBe(true);
      const all = found.flat();
      expect(all).toHaveLength(pairs.length);
      expect(new Set(all)).toEqual(new Set(pairs.map(([, made]) => made)));
    }
    expect((await tokensBelow(pagesOf(wide), from("root"))).next).not.toBe(null);
    // Too many levels for a cursor: the answer says that it is not complete.
    expect(writeLineageCursor((await tokensBelow(pagesOf(deep), from(name(0)))).next)).toBe(null);
  });

  it("are found in a finite time, also when records say that tokens made each other", async () => {
    const circle: Pair[] = [
      ["a", "b"],
      ["b", "a"],
    ];
    expect(await allBelow(pagesOf(circle), "a")).toEqual([["b"]]);
    expect((await makersOf(storeOf(circle), "a")).length).toBeLessThan(20);
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

it("how a wrapping token was made is in the record of the answer that it holds", async () => {
  const wrapped = (maker: string | null, made: string): AuditEvent => {
    const { response, ...line } = JSON.parse(making(maker, made).line);
    const wrap = { accessor: "wrap", ...(made !== "" && { wrapped_accessor: made }) };
    return { ...making(maker, made), line: JSON.stringify({ ...line, response: { ...response, wrap_info: wrap } }) };
  };
  const makersIn = async (event: AuditEvent) =>
    (
      await makersOf(async function* (accessor) {
        yield accessor === "wrap" ? [event] : [];
      }, "wrap")
    ).map(({ accessor, maker }) => [accessor, maker]);
  expect(await makersIn(wrapped("root", "a"))).toEqual([["wrap", "root"]]);
  expect(await makersIn(wrapped(null, "a"))).toEqual([["wrap", null]]);
  // An answer without a token, such as a secret-id.
  const { response: _, ...line } = JSON.parse(making("root", "").line);
  const bare = { ...line, response: { wrap_info: { accessor: "wrap" } } };
  expect(await makersIn({ ...making("root", ""), line: JSON.stringify(bare) })).toEqual([["wrap", "root"]]);
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
