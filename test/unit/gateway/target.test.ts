import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlatformPath } from "../../../gateway/headers.ts";
import { listTarget } from "../../../gateway/list-method.ts";

describe("listTarget", () => {
  it.each([
    ["/v1/auth/token/accessors", "/v1/auth/token/accessors?list=true"],
    ["/v1/auth/token/accessors/", "/v1/auth/token/accessors/?list=true"],
    ["/v1/x?", "/v1/x?list=true"],
    ["/v1/x?after=a%20b&limit=2", "/v1/x?after=a%20b&limit=2&list=true"],
    ["/v1/x?list=false", "/v1/x?list=true"],
    ["/v1/x?list", "/v1/x?list=true"],
    ["/v1/x?a=1&list=false&b=2&list=", "/v1/x?a=1&b=2&list=true"],
    ["/v1/x?%6cist=false", "/v1/x?list=true"],
    ["/v1/x?listing=1&b=list", "/v1/x?listing=1&b=list&list=true"],
    ["/v1/x?a=%zz", "/v1/x?a=%zz&list=true"],
  ])("%s becomes %s", (target, expected) => {
    expect(listTarget(target)).toBe(expected);
  });

  it("says list=true once and keeps every other parameter, whatever the query", () => {
    const query = fc.array(
      fc.tuple(fc.constantFrom("list", "List", "after", "l%69st", "", "a"), fc.webQueryParameters()),
    );
    fc.assert(
      fc.property(query, (parameters) => {
        const sent = parameters.map(([name, value]) => `${name}=${value}`).join("&");
        const before = new URLSearchParams(sent);
        const after = new URLSearchParams(listTarget(`/v1/x?${sent}`).slice("/v1/x?".length));
        expect(after.getAll("list")).toEqual(["true"]);
        before.delete("list");
        after.delete("list");
        expect([...after]).toEqual([...before]);
      }),
      { numRuns: 300 },
    );
  });
});

describe("isPlatformPath", () => {
  it("knows its folder", () => expect(isPlatformPath("/cdn-cgi/trace")).toBe(true));

  it.each(["/v1/secret/cdn-cgi", "/v1/cdn-cgi/x", "/v1/x?next=/cdn-cgi/", "/cdn-cgix/"])(
    "lets %s through",
    (target) => {
      expect(isPlatformPath(target)).toBe(false);
    },
  );
});
