import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { BROWSER_FLAGS, findBrowser } from "../../../scripts/local/browser.ts";

/** The browser of this machine; undefined where there is none, which CI does not accept. */
export function browserPath(): string | undefined {
  const found = findBrowser();
  if (found === undefined && process.env.CI === "true") throw new Error("CI needs Chromium: apt-get install chromium");
  return found;
}

/** Pages are drawn by no process of their own, which would cost a tenth of the browser's CPU time. */
const NO_GPU = ["--disable-gpu", "--in-process-gpu"];

export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...BROWSER_FLAGS, ...NO_GPU] });
}

/** A page whose faults are collected: exceptions, and what the content security policy refused. */
export interface WatchedPage {
  readonly page: Page;
  readonly faults: readonly string[];
}

/** In the page: how many calls have no answer yet. */
const COUNT_CALLS = `{
  const send = globalThis.fetch;
  globalThis.asking = 0;
  globalThis.fetch = async (...call) => {
    globalThis.asking += 1;
    try {
      return await send(...call);
    } finally {
      // The answer is rendered, and may cause more requests.
      setTimeout(() => { globalThis.asking -= 1; }, 50);
    }
  };
}`;

/** Longest wait for something on a page (ms). No test is about time: it only ends what never comes, also on a busy machine. */
const LIMIT_MS = 60_000;

/** The size of a page, unless a test sets another (px). */
const VIEWPORT = { width: 1280, height: 800 };

/** Opens a page in a profile of its own. */
export async function openPage(browser: Browser, colorScheme: "light" | "dark" = "light"): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme });
  page.setDefaultTimeout(LIMIT_MS);
  const faults: string[] = [];
  await page.addInitScript(COUNT_CALLS);
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (/content security policy|trusted ?type|integrity/i.test(message.text())) faults.push(message.text());
  });
  return { page, faults };
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const { source } = createRequire(import.meta.url)(AXE) as { readonly source: string };

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface AccessOptions {
  /** Looked at in these colours alone; in both otherwise. */
  readonly colours?: "light" | "dark";
  /** Rules of axe; all of them otherwise. */
  readonly only?: readonly string[];
}

/** Widths of a screen, of a small one and of a phone (px). */
const WIDTHS = [1440, 1024, 390];

/** Fails when a page is not accessible, or scrolls sideways, at one of the widths. The usual size is back at the end. */
export async function expectFitsWidths(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: VIEWPORT.height });
    await expectAccessible(page);
    expect(await page.evaluate("document.documentElement.scrollWidth"), page.url()).toBeLessThanOrEqual(width);
  }
  await page.setViewportSize(VIEWPORT);
}

/** Fails when axe finds something on the page, light or dark, that is serious for who reads it another way. */
export async function expectAccessible(page: Page, { colours, only }: AccessOptions = {}): Promise<void> {
  // Half a megabyte: a page takes it once.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(`(() => { ${source} })()`);
  for (const colorScheme of colours ? [colours] : (["dark", "light"] as const)) {
    await page.emulateMedia({ colorScheme });
    // The dark page is the same but for its colours.
    const runOnly = only ?? (colorScheme === "dark" ? ["color-contrast", "link-in-text-block"] : undefined);
    const options = JSON.stringify({ resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    const run = `axe.run(${options}).then((result) => result.violations)`;
    const violations: Violation[] = await page.evaluate(run);
    const serious = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .map(({ html }) => html)
            .slice(0, 3)
            .join(" | ")}`,
      );
    expect(serious.join("\n"), `${colorScheme} ${page.url()}`).toBe("");
  }
}
