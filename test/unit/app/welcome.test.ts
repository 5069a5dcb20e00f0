import { describe, expect, it } from "vitest";
import { version } from "../../../package.json";
import { welcomePage } from "../../../src/app/welcome.ts";

const BROWSER = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function page(url: string, init: RequestInit = { headers: BROWSER }, commit?: string): Response | null {
  return welcomePage(new Request(url, init), commit === undefined ? {} : { GROVE_COMMIT: commit });
}

describe("the page at /", () => {
  it("names the version and loads nothing", async () => {
    const shown = page("http://grove.test/", undefined, "fcd9c58a");
    expect(await shown?.text()).toContain(`<h1>Grove ${version}+fcd9c58a</h1>`);
    expect(shown?.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  });

  it("does not show a commit that is none", async () => {
    expect(await page("http://grove.test/", undefined, "<b>")?.text()).toContain(`<h1>Grove ${version}</h1>`);
  });

  it("is for browsers at / alone: clients of the API get the API", () => {
    expect(page("http://grove.test/", {})).toBeNull();
    expect(page("http://grove.test/", { headers: BROWSER, method: "POST" })).toBeNull();
    expect(page("http://grove.test/v1/", { headers: BROWSER })).toBeNull();
    expect(page("http://grove.test/v1/sys/health", { headers: BROWSER })).toBeNull();
  });
});
