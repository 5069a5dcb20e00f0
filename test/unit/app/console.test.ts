import { createHash } from "node:crypto";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { CONSOLE_FILES } from "../../../dist/console/files.ts";
import { consolePages } from "../../../src/app/console.ts";
import type { AppEnv } from "../../../src/app/context.ts";

const BROWSER = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, br" };
/** What the console may weigh over the network, with everything it loads. */
const MAX_BYTES = 150_000;

const site = new Hono<AppEnv>().route("/", consolePages);
site.notFound(() => new Response("the API"));

function ask(path: string, init: RequestInit = { headers: BROWSER }): Response | Promise<Response> {
  return site.request(path, init);
}

async function textOf(path: string, init: RequestInit = {}): Promise<string> {
  // Without an encoding that the client accepts the text comes as it is.
  return (await ask(path, init)).text();
}

/** The assets that the page loads, each with the hash that the browser checks. */
async function linked(): Promise<{ path: string; integrity: string }[]> {
  const page = await textOf("/ui/");
  return [...page.matchAll(/(?:href|src)="(\/ui\/assets\/[^"]+)" integrity="sha384-([^"]+)"/g)].map(
    ([, path = "", integrity = ""]) => ({ path, integrity }),
  );
}

describe("the console", () => {
  it("is where a browser that opens the address is sent", async () => {
    for (const path of ["/", "/ui"]) {
      const response = await ask(path);
      expect([response.status, response.headers.get("Location")]).toEqual([302, "/ui/"]);
    }
  });

  it.each<[string, RequestInit]>([
    ["/", { headers: BROWSER, method: "POST" }],
    ["/ui/tokens", { headers: BROWSER, method: "POST" }],
    ["/v1/sys/health", { headers: BROWSER }],
    ["/uid", { headers: BROWSER }],
  ])("leaves requests of clients of the API alone: %s %j", async (path, init) => {
    expect(await textOf(path, init)).toBe("the API");
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
      expect((await ask(path)).headers.get("Cache-Control")).toContain("immutable");
    }
    expect((await ask("/ui/")).headers.get("Cache-Control")).toBe("no-cache");
    expect((await ask("/ui/assets/console-of-another-build.js")).status).toBe(404);
  });

  it("is sent compressed to clients that accept that", async () => {
    expect((await ask("/ui/")).headers.get("Content-Encoding")).toBe("gzip");
    expect((await ask("/ui/", {})).headers.get("Content-Encoding")).toBeNull();
  });

  it("has nothing inline, and a policy that lets it run nothing of others and stand in no frame", async () => {
    const page = await textOf("/ui/");
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
    expect(page).not.toMatch(/(?:src|href)="(?!\/ui\/)/);
    for (const path of ["/ui/", "/", "/ui/assets/none.js"]) {
      const policy = (await ask(path)).headers.get("Content-Security-Policy") ?? "";
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
