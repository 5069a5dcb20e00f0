import { describe, expect, it } from "vitest";
import type { Token } from "../../../client/answers.d.ts";
import { countOfGroup, MOST_COUNTED } from "../../../console/tokens/count-of-group.ts";
import { counterOf, filterOfGroup, grouped, groupOf } from "../../../console/tokens/grouping.ts";
import { consoleToken } from "../../support/console-token.ts";

describe("groups of tokens", () => {
  const token: Token = consoleToken({ metadata: { owner: "billing" }, entity_id: "e1" });

  it("are by a field, or by a key of metadata", () => {
    const by = ["name", "role", "method", "policy", "entity", "metadata.owner", "metadata.run"];
    expect(by.map((one) => groupOf(token, one))).toEqual(["aws-web", "web", "auth/aws/", "fleet", "e1", "billing", ""]);
  });

  it("lead to the list of their tokens, and what has no group leads nowhere", () => {
    expect(filterOfGroup("name", "aws-web")).toEqual({ display_name: "aws-web" });
    expect(filterOfGroup("metadata.owner", "billing")).toEqual({ metadata: "owner=billing" });
    expect(filterOfGroup("role", "")).toBeNull();
  });

  it("are counted by the server without a filter, or with that of a method, and only then", () => {
    expect(counterOf("name", {})).toEqual({ group_by: "display_name" });
    expect(counterOf("metadata.owner", { mount: "auth/aws/" })).toEqual({
      group_by: "metadata.owner",
      mount: "auth/aws/",
    });
    expect(counterOf("role", { mount: "auth/aws/", policy: "fleet" })).toBeNull();
    expect(counterOf("unknown", {})).toBeNull();
  });

  it("are not said to have no token where the count names the largest groups alone", () => {
    const groups = Array.from({ length: MOST_COUNTED }, (_, at) => ({ key: `policy-${at}`, count: 2 }));
    expect(countOfGroup({ groups }, "policy-7")).toBe(2);
    expect(countOfGroup({ groups }, "rare")).toBeNull();
    expect(countOfGroup({ groups: groups.slice(1) }, "rare")).toBe(0);
  });

  it("stand in order of their size", () => {
    const named = ["b", "a", "b", "c"].map((name) => consoleToken({ display_name: name }));
    expect(grouped(named, (one) => groupOf(one, "name")).map(({ name, of }) => [name, of.length])).toEqual([
      ["b", 2],
      ["a", 1],
      ["c", 1],
    ]);
  });
});
