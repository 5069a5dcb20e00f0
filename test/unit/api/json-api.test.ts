import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderFailure, renderReply } from "../../../src/api/json-api/dialect.ts";
import { pageReply, readDocument, readListQuery, SEARCH_FIELD } from "../../../src/api/json-api/routes.ts";
import type { Failure } from "../../../src/base/result.ts";
import { toWire } from "../../../src/wire/failure.ts";
import { fieldSchema } from "../../../src/wire/field-schema.ts";

describe("documents", () => {
  it("may come without attributes", () => {
    expect(readDocument({ data: { type: "" } })).toEqual({ ok: true, value: { type: "", attributes: {} } });
    expect(readDocument({ data: {} })).toEqual({ ok: true, value: { type: null, attributes: {} } });
    const data = { type: "teams", attributes: { type: 1, id: 2 }, id: "x", relationships: null };
    expect(readDocument({ data })).toEqual({ ok: true, value: { type: "teams", attributes: { type: 1, id: 2 } } });
  });

  it("of any other form are refused with a pointer", () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3 }), (document) => {
        const read = readDocument(document);
        if (read.ok) return;
        expect(read.error).toMatchObject({ code: "invalid_document", pointer: expect.stringMatching(/^\/data/) });
      }),
      { numRuns: 300 },
    );
  });
});

describe("failures", () => {
  const failures: Failure[] = [
    { code: "invalid_request", message: "wrong" },
    { code: "unauthenticated" },
    { code: "permission_denied" },
    { code: "forbidden", message: "no" },
    { code: "not_found" },
    { code: "no_route", path: "<script>" },
    { code: "unsupported_path" },
    { code: "unsupported_operation" },
    { code: "unknown_method" },
    { code: "body_too_large" },
    { code: "unsupported_media_type", message: "type" },
    { code: "invalid_document", message: "bad", pointer: "/data/type" },
    { code: "invalid_parameter", message: "bad", parameter: "q" },
    { code: "sealed", message: "sealed" },
    { code: "uninitialized" },
    { code: "internal" },
    { code: "unavailable", message: "busy", retryAfterSeconds: 3 },
  ];

  it.each(failures)("$code: one error object whose status is a text", async (failure) => {
    const response = renderFailure(failure);
    const { errors } = (await response.json()) as { errors: Record<string, unknown>[] };
    expect(errors).toEqual([
      {
        status: String(response.status),
        title: expect.stringMatching(/^[a-z ]+$/),
        detail: expect.stringMatching(/./),
        ...(failure.code === "invalid_document" && { source: { pointer: "/data/type" } }),
        ...(failure.code === "invalid_parameter" && { source: { parameter: "q" } }),
      },
    ]);
    expect(response.headers.get("Content-Type")).toBe("application/vnd.api+json");
    expect(response.headers.get("Retry-After")).toBe(failure.code === "unavailable" ? "3" : null);
    // The rest of the service says the same but where it may not tell a bad token, or a refusal, from a missing thing.
    const same = failure.code !== "unauthenticated" && failure.code !== "permission_denied";
    expect(response.status === toWire(failure).status).toBe(same);
  });

  it("do not tell what is refused from what is missing", async () => {
    const texts = await Promise.all(
      (["permission_denied", "not_found", "unsupported_path"] as const).map((code) => renderFailure({ code }).text()),
    );
    expect(new Set(texts).size).toBe(1);
  });
});

describe("replies", () => {
  it("of other interfaces are a bug", () => {
    expect(() => renderReply("id", { kind: "data", data: {} }, [])).toThrow();
  });
});

describe("pages", () => {
  it("lead from the first to the last and back, whatever their size", () => {
    fc.assert(
      fc.property(
        fc.nat(350),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 400 }),
        (total, size, number) => {
          const query = readListQuery(
            { "page[size]": String(size), "page[number]": String(number), q: "a b&c" },
            fieldSchema(SEARCH_FIELD),
            [],
          );
          if (!query.ok) throw new Error("the query is good");
          const request = { baseUrl: () => "https://h/v1/", path: "organizations/o/team-tokens" };
          const reply = pageReply({ request, prepared: query.value }, { items: [], total }, () => ({}));
          if (!reply.ok || reply.value.kind !== "plain") throw new Error("a page is a document");
          const { links, meta } = reply.value.body as {
            links: Record<string, string | null>;
            meta: { pagination: Record<string, number | null> };
          };
          const last = Math.ceil(total / size);
          const { pagination } = meta;
          expect(pagination["total-pages"]).toBe(last);
          expect(pagination["next-page"]).toBe(number < last ? number + 1 : null);
          const previous = pagination["prev-page"] ?? null;
          expect(previous === null).toBe(number === 1 || last === 0);
          if (previous !== null) expect(previous).toBe(Math.min(number - 1, last));
          for (const link of Object.values(links)) {
            if (link === null) continue;
            expect(link).not.toMatch(/[[\] ]/);
            const url = new URL(link);
            expect(url.searchParams.get("q")).toBe("a b&c");
            expect(url.searchParams.get("page[size]")).toBe(String(size));
          }
          const numberOf = (link: string | null | undefined) =>
            link && Number(new URL(link).searchParams.get("page[number]"));
          expect(numberOf(links.self)).toBe(number);
          expect(numberOf(links.first)).toBe(1);
          expect(numberOf(links.last)).toBe(Math.max(1, last));
          expect(numberOf(links.next) ?? null).toBe(pagination["next-page"]);
          expect(numberOf(links.prev) ?? null).toBe(previous);
        },
      ),
      { numRuns: 300 },
    );
  });
});
