import { afterEach, describe, expect, it } from "vitest";
import { goingIn, type Item } from "../../../console/forest/token-map.ts";
import { isBeingRevoked, noteWatermarks, type Watermark } from "../../../console/tokens/recent-revocations.ts";
import { consoleToken } from "../../support/console-token.ts";

describe("a token that a revocation of all has ended, whoever asked for it", () => {
  afterEach(() => noteWatermarks([]));
  const at = (fields: Partial<Watermark>): Watermark => ({
    ...{ time: "2026-11-22T12:00:00Z", created_before: null },
    ...fields,
  });
  const token = consoleToken({ entity_id: "e1" });
  const young = consoleToken({ entity_id: "e1", created: "2026-11-22T12:00:01Z" });
  const forever = consoleToken({ entity_id: "e1", expires: null });
  const first = consoleToken({ path: "auth/token/root", expires: null });

  it.each([
    ["of its entity", at({ entity_id: "e1" }), [true, false, true, false]],
    ["of another entity", at({ entity_id: "e2" }), [false, false, false, false]],
    ["of its method", at({ prefix: "auth/aws/" }), [true, false, true, false]],
    ["of its path", at({ prefix: "auth/aws/login" }), [true, false, true, false]],
    ["of the tokens of tokens", at({ prefix: "auth/token/" }), [false, false, false, false]],
    ["of a path that only begins alike", at({ prefix: "auth/aws/log" }), [false, false, false, false]],
    [
      "of what is older than it",
      at({ entity_id: "e1", created_before: "2026-11-22T09:00:00Z" }),
      [false, false, false, false],
    ],
    ["since a time before it", at({ issued_since: "2026-11-22T09:00:00Z" }), [true, false, true, true]],
    ["since a time after it", at({ issued_since: "2026-11-22T11:00:00Z" }), [false, false, false, false]],
  ])("is marked: %s", (_, watermark, expected) => {
    noteWatermarks([watermark]);
    expect([token, young, forever, first].map((one) => isBeingRevoked(one))).toEqual(expected);
  });

  it("is counted on the map with its whole area, once", () => {
    noteWatermarks([at({ entity_id: "e1" })]);
    const area = (count: number, of: Item["token"], items?: readonly Item[]): Item => ({
      ...{ key: `${count}`, name: "", count, token: of, mount: "auth/aws/", opens: "" },
      ...(items && { items }),
    });
    const frame = area(42, null, [area(30, token, [area(12, token)]), area(12, young)]);
    expect(goingIn([frame])).toBe(30);
  });
});
