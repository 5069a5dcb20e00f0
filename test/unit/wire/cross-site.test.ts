import { describe, expect, it } from "vitest";
import { canBeRebound, readSender } from "../../../src/wire/cross-site.ts";

const BASE = () => "http://127.0.0.1:8200/v1/";

describe("what sent a request", () => {
  it.each([
    [{}, "program"],
    [{ "Sec-Fetch-Site": "same-origin" }, "own page"],
    [{ "Sec-Fetch-Site": "none" }, "own page"],
    [{ "Sec-Fetch-Site": "same-site" }, "foreign page"],
    [{ "Sec-Fetch-Site": "cross-site" }, "foreign page"],
    [{ "Sec-Fetch-Site": "same-origin, cross-site" }, "foreign page"],
    [{ "Sec-Fetch-Site": "" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200" }, "own page"],
    [{ Origin: "https://127.0.0.1:8200" }, "own page"],
    [{ Origin: "http://127.0.0.1:8201" }, "foreign page"],
    [{ Origin: "http://127.0.0.1" }, "foreign page"],
    [{ Origin: "https://evil.example" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200.evil.example" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200@evil.example" }, "foreign page"],
    [{ Origin: "null" }, "foreign page"],
    [{ Origin: "http://evil.example@127.0.0.1:8200" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200/" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200, https://evil.example" }, "foreign page"],
    [{ Origin: "http://0x7f.1:8200" }, "foreign page"],
    [{ Origin: "file://" }, "foreign page"],
    [{ Origin: "chrome-extension://abcdef" }, "foreign page"],
    [{ Origin: "" }, "foreign page"],
    [{ Origin: "http://127.0.0.1:8200", "Sec-Fetch-Site": "cross-site" }, "foreign page"],
    // A proxy in front has called the server by another name.
    [{ Origin: "https://grove.example", "Sec-Fetch-Site": "same-origin" }, "own page"],
  ] as const)("%j: %s", (headers, sender) => {
    expect(readSender(new Headers(headers), BASE)).toBe(sender);
  });

  it("compares the host without regard to its case and to the usual port, as the request names it", () => {
    const headers = new Headers({ Origin: "https://grove.example" });
    expect(readSender(headers, () => "https://Grove.Example:443/")).toBe("own page");
  });
});

describe("a host that DNS rebinding can move", () => {
  it.each([
    ["http://grove.example/v1/", true],
    ["http://127.0.0.1.evil.example:8200/", true],
    ["http://localhost.evil.example/", true],
    ["https://grove.example/v1/", false],
    ["http://127.0.0.1:8200/", false],
    ["http://0x7f000001/", false],
    ["http://[::1]:8200/", false],
    ["http://localhost:8787/", false],
    ["http://grove.localhost/", false],
  ])("%s: %s", (url, expected) => {
    expect(canBeRebound(url)).toBe(expected);
  });
});
