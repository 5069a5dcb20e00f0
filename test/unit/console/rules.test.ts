import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RevocationJob } from "../../../client/answers.d.ts";
import { compact, duration, localTime, queryTime, relative } from "../../../console/format.ts";
import { queryOf } from "../../../console/href.ts";
import { offsetOf, placeIn } from "../../../console/policies/policy-endpoint.ts";
import { typedNumberMistake } from "../../../console/records/typed-confirmation.ts";
import { childrenText, descendantsText } from "../../../console/tokens/amount.ts";
import {
  filterBody,
  filterOf,
  filterOfBody,
  filterText,
  isMeant,
  jobSelectionText,
  linesOfPairs,
  pairsOfLines,
  selectionText,
} from "../../../console/tokens/filter.ts";
import {
  groupRows,
  groupsText,
  isStopping,
  isUnderWay,
  jobText,
  percentOf,
} from "../../../console/tokens/revocation-preview.ts";
import { consoleToken } from "../../support/console-token.ts";

describe("times and numbers of the console", () => {
  it("tells a duration by its two largest units", () => {
    expect([0, 59, 60, 3_661, 86_400, 90_000, 40_000_000].map(duration)).toEqual([
      "0s",
      "59s",
      "1m",
      "1h 1m",
      "1d",
      "1d 1h",
      "1y 3mo",
    ]);
  });

  it("tells a time by its distance from now", () => {
    const now = Date.parse("2026-11-22T12:00:00Z");
    expect(relative("2026-11-22T14:30:00Z", now)).toBe("in 2h 30m");
    expect(relative("2026-11-22T11:59:00Z", now)).toBe("1m ago");
    expect(relative("2026-11-22T12:00:02Z", now)).toBe("now");
  });

  it("shortens only numbers that have no room", () => {
    expect([9_999, 12_400, 250_000, 1_200_000].map(compact)).toEqual(["9,999", "12.4k", "250k", "1.2M"]);
  });
});

describe("the numbers of a revocation", () => {
  const preview = {
    ...{ count: 38, total: 1168, leases: { count: 0, more: false }, skipped: { root: 0, self: 0 } },
    by_other: { mount: 0, role: 0, owner: 0 },
    by: { mount: [], type: [], role: [], owner: [] },
  };
  const job: RevocationJob = {
    ...{ dry_run: false, filter: {}, named: 0, asked_by: null, request_id: "", expected: 38, expected_total: 1168 },
    ...{ started: "2026-11-22T05:06:00Z", spared: 0 },
    ...({ id: "j", state: "done", counted: 1168, preview, matched: 38, total: 1168, revoked: 38 } as const),
    ...{
      ended_before: 0,
      mismatched: 0,
      remaining: null,
      finished: "2026-11-22T05:06:07Z",
      not_ended: 0,
      failures: [],
    },
  };

  it("are what match, and all that end with them, before and after", () => {
    expect(jobText(job)).toBe("1,168 of 1,168 tokens ended: 38 that matched, with everything below");
    expect(jobText({ ...job, state: "running", total: 600, revoked: 20 })).toBe(
      "600 of 1,168 tokens ended: 20 of the 38 that matched, with everything below",
    );
    expect(percentOf({ ...job, total: 584 })).toBe(50);
    const { preview: _, ...uncounted } = job;
    expect(jobText({ ...uncounted, state: "counting", counted: 600, matched: null })).toBe(
      "Counting: 600 tokens so far",
    );
  });

  it("add up when some that matched had ended already", () => {
    const some = { ...job, preview: { ...preview, count: 4, total: 4 }, matched: 4, total: 3, revoked: 3 };
    expect(jobText({ ...some, ended_before: 1 })).toBe(
      "3 of 4 tokens ended: 3 of the 4 that matched, with everything below, 1 had ended already",
    );
    // Tokens that are chosen one by one match only while they are alive.
    expect(jobText({ ...some, preview: { ...preview, count: 3, total: 3 }, matched: 3, ended_before: 1 })).toBe(
      "3 of 3 tokens ended: 3 that matched, with everything below, 1 had ended already",
    );
    expect(jobText({ ...some, mismatched: 1 })).toMatch(/, 1 are not what the list says of them$/);
  });

  it("may grow until the job has finished, also when it is stopped", () => {
    const states = [job, { ...job, state: "running", finished: null }, { ...job, state: "stopped" }] as const;
    expect(states.map(isUnderWay)).toEqual([false, true, false]);
    expect(states.map(isStopping)).toEqual([false, false, false]);
    const stopping = { ...job, state: "stopped", finished: null } as const;
    expect([isUnderWay(stopping), isStopping(stopping)]).toEqual([true, true]);
  });

  it("name the largest groups of the total, and say how many are in none", () => {
    const owners = ["a", "", "b", "c", "d", "e"].map((key, at) => ({ key, count: 100 - at }));
    expect(groupsText(owners, 600, ["a role", "roles"])).toBe(
      "100 a, 99 without a role, 98 b, 97 c, 96 d, 110 of other roles",
    );
    expect(
      groupsText(
        owners.filter(({ key }) => key !== ""),
        502,
        ["a role", "roles"],
      ),
    ).toBe("100 a, 98 b, 97 c, 96 d, 95 e, 16 of other roles or without a role");
    expect(groupsText([{ key: "", count: 3 }], 3, ["a role", "roles"])).toBeNull();
    const by = {
      type: [{ key: "service", count: 3 }],
      owner: [{ key: "", count: 3 }],
      role: [],
      mount: [{ key: "auth/aws/", count: 3 }],
    };
    expect(groupRows({ by, total: 3 })).toEqual({ "By type": "3 service", "By method": "3 auth/aws/" });
    const owned = { by: { ...by, owner: [{ key: "3e6ec577", count: 3 }] }, total: 3 };
    expect(groupRows(owned, new Map([["3e6ec577", "checkout"]]))).toMatchObject({ "By owner or entity": "3 checkout" });
    expect(groupRows(owned)).toMatchObject({ "By owner or entity": "3 3e6ec577" });
  });

  it("of one token are its children, right below it, and its descendants, all below", () => {
    expect([childrenText(1), childrenText(8), childrenText(0)]).toEqual(["1 child", "8 children", ""]);
    expect(descendantsText({ count: 56, more: false })).toBe("56 descendants");
    expect(descendantsText({ count: 10_000, more: true })).toBe("10,000+ descendants");
  });
});

describe("the confirmation of a bulk revocation", () => {
  it("is the exact number, with separators or without", () => {
    for (const typed of ["1080", "1,080"]) expect(typedNumberMistake(1080, typed, "the number")).toBe("");
    for (const typed of ["1", "120", "12 ", "012"])
      expect(typedNumberMistake(12, typed, "the number")).toMatch(/^Not 12/);
    for (const typed of ["108", "1,08", "10,80", "1,0800"])
      expect(typedNumberMistake(1080, typed, "the number")).toBe("Not 1,080, the number: nothing was sent.");
    expect(typedNumberMistake(12, "", "the number")).toBe("Needed: nothing was sent.");
  });
});

describe("the filter of the tokens page", () => {
  it("has several pairs of metadata, each a parameter of its own in addresses and an entry of a list in bodies", () => {
    const lines = linesOfPairs(" owner=billing,  note=a, b , run_id=12");
    expect(lines.split("\n")).toEqual(["owner=billing", "note=a, b", "run_id=12"]);
    expect(pairsOfLines(lines)).toBe("owner=billing, note=a, b, run_id=12");
    const address = queryOf({ metadata: lines, policy: "", role: undefined });
    expect(address).toBe("?metadata=owner%3Dbilling&metadata=note%3Da%2C+b&metadata=run_id%3D12");
    const filter = filterOf(new URLSearchParams(address));
    expect(filterBody(filter)).toEqual({ metadata: ["owner=billing", "note=a, b", "run_id=12"] });
    expect(filterOfBody(filterBody(filter))).toEqual(filter);
    const token = consoleToken({ metadata: { owner: "billing", run_id: "12" } });
    expect(isMeant({ metadata: ["owner=billing", "run_id=12"] }, token)).toBe(true);
    expect(isMeant({ metadata: ["owner=billing", "run_id=13"] }, token)).toBe(false);
  });

  it("tells which tokens of a map a revocation means", () => {
    const token = consoleToken();
    const meant = [
      { accessors: ["a0", "a1"] },
      { policy: "fleet", mount: "aws" },
      { display_name: "aws-*", orphan: true },
      { ends_before: "2026-11-24T00:00:00Z", created_before: "2026-11-22T11:00:00Z", never_ends: false },
    ];
    const spared = [
      { accessors: ["a2"] },
      { policy: "fleet", role: "worker" },
      { ends_after: "2026-11-24T00:00:00Z" },
      { unused_since: "2026-11-24T00:00:00Z" },
    ];
    expect(meant.map((selection) => isMeant(selection, token))).toEqual([true, true, true, true]);
    expect(spared.map((selection) => isMeant(selection, token))).toEqual([false, false, false, false]);
    const endless = consoleToken({ expires: null });
    const ends = ["ends_before", "ends_after"].map((name) => ({ [name]: "2100-01-01T00:00:00Z" }));
    expect([...ends, { never_ends: true }].map((selection) => isMeant(selection, endless))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("takes from the address what the inventory knows, and nothing else", () => {
    const query = new URLSearchParams("policy=web&sort=-created&orphan=true&columns=name&tree=");
    const filter = filterOf(query);
    expect(filter).toEqual({ policy: "web", orphan: "true" });
    expect(filterBody(filter)).toEqual({ policy: "web", orphan: true });
    expect(filterOfBody(filterBody(filter))).toEqual(filter);
    expect(filterText(filter)).toBe("policy web, without a parent true");
    expect(filterText({})).toBe("all tokens");
    expect(filterText({ entity_id: "e-1" })).toBe("entity e-1");
    expect(filterText({ entity_id: "e-1" }, new Map([["e-1", "Dana Doe"]]))).toBe("entity Dana Doe");
    expect(filterText({ search: "pay", policy: "web" })).toBe(
      "“pay” in name, metadata, role, path, entity or accessor, policy web",
    );
  });

  it("is told in words on the receipt of a revocation, with what else it takes", () => {
    expect(selectionText({ policy: "web", metadata: ["owner=a", "run=1"], include_root: true })).toBe(
      "policy web, metadata owner=a, run=1, root tokens too",
    );
    // Options widen a filter; a token that is named ends by its name.
    expect(selectionText({ accessors: ["a1", "a2"], include_self: "1", include_root: true })).toBe("2 selected tokens");
    expect(selectionText({ policy: "web", include_self: "1" })).toBe("policy web, the token that asked too");
    expect(selectionText({ entity_id: "e-1", include_root: true }, 0, new Map([["e-1", "Dana Doe"]]))).toBe(
      "entity Dana Doe, root tokens too",
    );
    expect(selectionText({ include_self: "false" }, 1)).toBe("1 selected token");
    expect(selectionText({ created_before: "2026-11-22" })).toBe("created before 2026-11-22");
  });

  it("of one token is called by its name, the end of its accessor and what ended below it", () => {
    const filter = { accessors: ["accessor-0123456789"], include_root: true, include_self: true };
    const of = (job: Parameters<typeof jobSelectionText>[0], name = "token-api") =>
      jobSelectionText(job, new Map(), name);
    expect(of({ filter, named: 1, total: 17 })).toBe("token-api (…0123456789) and 16 below");
    expect(of({ filter, named: 1, total: 1 })).toBe("token-api (…0123456789)");
    expect(of({ filter, named: 1, total: 0 }, "")).toBe("token (…0123456789)");
    expect(of({ filter: {}, named: 900, total: 1 })).toBe("900 selected tokens");
    expect(of({ filter: { policy: "web" }, named: 0, total: 5 })).toBe("policy web");
  });

  it("keeps a time to the minute on its way through an input", () => {
    const day = fc.date({ min: new Date("2020-01-01"), max: new Date("2040-01-01"), noInvalidDate: true });
    fc.assert(
      fc.property(day, (date) => {
        date.setSeconds(0, 0);
        expect(queryTime(localTime(date.toISOString()))).toBe(date.toISOString());
      }),
    );
    expect([localTime("soon"), queryTime("")]).toEqual(["", ""]);
  });
});

describe("the place of a mistake in a policy", () => {
  it("is read from the parser's message", () => {
    expect(placeIn('failed to parse policy: invalid capability "red" (line 2, column 19)')).toEqual({
      line: 2,
      column: 19,
    });
    const two = 'path "a": invalid capability "lst"; path "b": invalid key "x" on line 4 (line 2, column 26)';
    expect(placeIn(two)).toEqual({ line: 2, column: 26 });
    expect(placeIn("permission denied")).toBeNull();
  });

  it("is the same character in the text", () => {
    const text = 'path "a" {\n  capabilities = ["red"]\n}';
    expect(text.slice(offsetOf(text, { line: 2, column: 19 })).startsWith('"red"')).toBe(true);
    // The parser counts characters, which are not all one unit of the text.
    expect(offsetOf("🌳🌳x", { line: 1, column: 3 })).toBe(4);
    expect(offsetOf(text, { line: 99, column: 1 })).toBe(text.length);
  });
});
