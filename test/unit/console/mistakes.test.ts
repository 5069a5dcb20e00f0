import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../../console/audit/event.ts";
import { eventKindOf } from "../../../console/audit/event-kind.ts";
import { keptHues } from "../../../console/forest/category-hues.ts";
import { objectMistake } from "../../../console/methods/pasted-login.ts";
import { PRESETS } from "../../../console/presets/presets.ts";
import { filterMistake, refusedFilter } from "../../../console/tokens/filter.ts";
import { titleOf } from "../../../console/ui/problem-title.ts";

describe("a mistake is said where it was made", () => {
  it("is that a pasted text begins like JSON and is none", () => {
    expect(objectMistake('{"sub": "a"')).toContain("begins like JSON");
    for (const right of ['{"sub": "a"}', "ey.a.b", "", "arn:aws:iam::1:role/x"]) expect(objectMistake(right)).toBe("");
  });

  it("is at the filter, before it is sent or by what the server says of it", () => {
    expect(filterMistake({ kind: "pairs" }, "owner")).toContain("name=value");
    expect(filterMistake({ kind: "pairs" }, "owner=a, run=1")).toBe("");
    expect(filterMistake({ kind: "pairs" }, "")).toBe("");
    expect(filterMistake({ kind: "text" }, "owner")).toBe("");
    expect(refusedFilter(["no auth method is mounted at the path of mount"])).toBe("mount");
    expect(refusedFilter(["metadata: expected each name once"])).toBe("metadata");
    expect(refusedFilter(["Grove can't answer"])).toBe("");
    expect(refusedFilter([])).toBe("");
  });

  it("is headed as one of who sent it, whichever status the server chose", () => {
    for (const status of [400, 409, 415, 422]) expect(titleOf(status)).toBe("Not accepted");
    expect(titleOf(500)).toBe("Something went wrong");
    expect(titleOf(404)).toBe("Not found");
  });

  it("is that the token of a reviewer is no signed one", () => {
    const field = PRESETS.find(({ id }) => id === "kubernetes-review")?.fields.find(({ name }) => name === "reviewer");
    expect(field?.wrong("nonsense")).toContain("no JWT");
    expect(field?.wrong("ey.secret.x")).toBe("");
  });
});

it("a request that only asks is not said to have changed something", () => {
  const event = (path: string): AuditEvent =>
    ({ type: "response", kind: "change", path, time: "2026-11-22T05:00:00Z" }) as AuditEvent;
  for (const path of ["auth/jwt/explain/login", "sys/explain/access", "sys/tokens/find", "identity/lookup/entities"]) {
    expect(eventKindOf(event(path)), path).toBe("asked");
  }
  for (const path of ["auth/jwt/role/explain", "sys/policies/acl/find", "identity/entity"]) {
    expect(eventKindOf(event(path)), path).toBe("changed");
  }
});

it("a category keeps its colour while it is out of view, and when others come in its place", () => {
  const first = keptHues("test", ["orders", "search", "checkout"], 8);
  keptHues("test", ["search"], 8);
  keptHues("test", ["search", "a", "b", "c", "d"], 8);
  expect(keptHues("test", ["orders", "search"], 8).get("orders")).toBe(first.get("orders"));
  const many = Array.from({ length: 8 }, (_, at) => `service-${at}`);
  expect(new Set(keptHues("test", many, 8).values()).size).toBe(8);
});
