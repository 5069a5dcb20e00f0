import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { CONSOLE_FILES } from "../../../dist/console/files.ts";
import { consoleAnswer } from "../../../src/app/console.ts";

const BROWSER = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, br" };
/** What the console may weigh over the network, with everything it loads. */
const MAX_BYTES = 150_000;

function ask(path: string, init: RequestInit = { headers: BROWSER }): Response | null {
  const request = new Request(`https://grove.test${path}`, init);
  return consoleAnswer(request, new URL(request.url).pathname);
}

async function textOf(path: string): Promise<string> {
  // Without an encoding that the client accepts the text comes as it is.
  return (await ask(path, {})?.text()) ?? "";
}

/** The assets that the page loads, each with the hash that the browser checks. */
async function linked(): Promise<{ path: string; integrity: string }[]> {
  const page = await textOf("/ui/");
  return [...page.matchAll(/(?:href|src)="(\/ui\/assets\/[^"]+)" integrity="sha384-([^"]+)"/g)].map(
    ([, path = "", integrity = ""]) => ({ path, integrity }),
  );
}

describe("the console", () => {
  it("is where a browser that opens the address is sent", () => {
    expect(ask("/")?.status).toBe(302);
    expect(ask("/")?.headers.get("Location")).toBe("/ui/");
    expect(ask("/ui")?.headers.get("Location")).toBe("/ui/");
  });

  it("leaves requests of clients of the API alone", () => {
    expect(ask("/", {})).toBeNull();
    expect(ask("/", { headers: BROWSER, method: "POST" })).toBeNull();
    expect(ask("/ui/tokens", { headers: BROWSER, method: "POST" })).toBeNull();
    expect(ask("/v1/sys/health")).toBeNull();
    expect(ask("/uid")).toBeNull();
  });

  it("answers every address of a page with the page", async () => {
    const page = await textOf("/ui/");
    expect(page).toContain('<div id="console">');
    for (const path of ["/ui/tokens?policy=a", "/ui/tokens/abc", "/ui/index.html"]) {
      expect(await textOf(path)).toBe(page);
    }
  });

  it("loads assets by names of their content, with hashes that the browser checks, and keeps them for ever", async () => {
    const assets = await linked();
    expect(assets).toHaveLength(2);
    for (const { path, integrity } of assets) {
      const text = await textOf(path);
      expect(createHash("sha384").update(text).digest("base64")).toBe(integrity);
      expect(ask(path)?.headers.get("Cache-Control")).toContain("immutable");
    }
    expect(ask("/ui/")?.headers.get("Cache-Control")).toBe("no-cache");
    expect(ask("/ui/assets/console-of-another-build.js")?.status).toBe(404);
  });

  it("is sent compressed to whoever accepts that", () => {
    expect(ask("/ui/")?.headers.get("Content-Encoding")).toBe("gzip");
    expect(ask("/ui/", {})?.headers.get("Content-Encoding")).toBeNull();
  });

  it("has nothing inline, and a policy that lets it run nothing of others and stand in no frame", async () => {
    const page = await textOf("/ui/");
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    expect(page).not.toMatch(/(?:src|href)="(?!\/ui\/)/);
    for (const path of ["/ui/", "/", "/ui/assets/none.js"]) {
      const policy = ask(path)?.headers.get("Content-Security-Policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
    }
  });

  it("weighs less than 150 kB", () => {
    const bytes = Object.values(CONSOLE_FILES).map(({ gzip }) => Buffer.from(gzip, "base64").length);
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(MAX_BYTES);
  });
});
