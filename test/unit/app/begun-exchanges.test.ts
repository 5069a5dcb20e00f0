import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BegunExchanges } from "../../../src/app/begin-once.ts";
import { readExchange, renderExchange } from "../../../src/wire/exchange.ts";

const first = (connection: string, number: number) => ({ connection, number, again: false });
const again = (connection: string, number: number) => ({ connection, number, again: true });

describe("requests of the gateway that have begun", () => {
  it("lets a request that was lost before it began be repeated, once", () => {
    const begun = new BegunExchanges();
    expect([begun.begin(first("a", 1)), begun.begin(first("a", 2))]).toEqual([true, true]);
    expect(begun.begin(again("a", 3))).toBe(true);
    expect(begun.begin(again("a", 3))).toBe(false);
  });

  it("refuses the repetition of one that it began, and of one that did not come next", () => {
    const begun = new BegunExchanges();
    begun.begin(first("a", 1));
    begun.begin(first("a", 2));
    expect([1, 2, 4].map((number) => begun.begin(again("a", number)))).toEqual([false, false, false]);
  });

  it("refuses a repetition for a connection that it does not know: it may be of the process before", () => {
    const begun = new BegunExchanges();
    begun.begin(first("a", 1));
    expect([begun.begin(again("b", 1)), begun.begin(again("b", 2))]).toEqual([false, false]);
  });

  it("refuses the first sending when the repetition came before it", () => {
    const begun = new BegunExchanges();
    begun.begin(first("a", 1));
    expect([begun.begin(again("a", 2)), begun.begin(first("a", 2))]).toEqual([true, false]);
  });

  it("forgets the connections that were used least recently, and refuses what is repeated for them", () => {
    const begun = new BegunExchanges(10);
    begun.begin(first("old", 1));
    for (let other = 0; other < 30; other++) {
      begun.begin(first(`other-${other}`, 1));
      begun.begin(first("used", other + 1));
    }
    expect([begun.begin(again("old", 2)), begun.begin(again("used", 31))]).toEqual([false, true]);
  });

  it("begins nothing twice, whatever comes in whatever order, as long as it remembers the connection", () => {
    const exchange = fc.record({
      connection: fc.constantFrom("a", "b", "c"),
      number: fc.integer({ min: 1, max: 6 }),
      again: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 60 }), (arriving) => {
        const begun = new BegunExchanges();
        const names = arriving.filter((one) => begun.begin(one)).map((one) => `${one.connection}.${one.number}`);
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});

describe("the header of an exchange", () => {
  it("is read as it was written", () => {
    for (const exchange of [first("AZaz09_-", 1), again("x", 999_999)]) {
      expect(readExchange(renderExchange(exchange))).toEqual(exchange);
    }
  });

  it.each([
    "",
    "a",
    "a.",
    "a.0",
    "a.01",
    "a.-1",
    ".1",
    "a.1 AGAIN",
    "a.1  again",
    "a.1 again ",
    "a b.1",
    `${"a".repeat(65)}.1`,
  ])("is not read when it is malformed: %j", (text) => {
    expect(readExchange(text)).toBeNull();
  });
});
