import { describe, expect, it } from "vitest";
import { readBoundedText } from "../../../src/base/outbound-http.ts";

/** An answer as it comes over the network: what it announces need not be true. */
function answer(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Response {
  return new Response(body, { headers });
}

describe("readBoundedText", () => {
  it.each([
    ["without a length", {}],
    ["of a known length", { "Content-Length": "10" }],
  ] as const)("reads a body %s up to the limit, and only UTF-8", async (_, headers) => {
    expect(await readBoundedText(answer("grün", headers), 10)).toEqual({ ok: true, value: "grün" });
    expect(await readBoundedText(answer("x".repeat(10), headers), 10)).toMatchObject({ ok: true });
    expect(await readBoundedText(answer("x".repeat(11), headers), 10)).toEqual({ ok: false, error: "too_long" });
    expect(await readBoundedText(answer(new Uint8Array([0x61, 0xff]), headers), 10)).toEqual({
      ok: false,
      error: "not_utf8",
    });
  });

  it.each([
    ["a compressed body", { "Content-Encoding": "gzip" }],
    ["a body that announces too much", {}],
  ] as const)("stops in the middle of %s", async (_, encoding) => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(8).fill(0x61));
      },
    });
    const length = "Content-Encoding" in encoding ? "1" : "1000";
    const response = new Response(endless, { headers: { "Content-Length": length, ...encoding } });
    expect(await readBoundedText(response, 20)).toEqual({ ok: false, error: "too_long" });
    expect(pulled).toBeLessThan(10);
  });
});
