import { type Browser, chromium, type Page } from "playwright-core";
import { BROWSER_FLAGS, findBrowser } from "../../scripts/local/browser.ts";
import type { Bench, CaseFigures, Row } from "../case.ts";
import { ServeProcess } from "../servers/serve.ts";
import { median } from "../statistics.ts";

/** Measured repetitions of each step. */
const ROUNDS = 7;
/** Time limit of one step (ms). */
const WAIT_MS = 60_000;
/** Target: time from navigation to the first rendered frame with data (ms). */
const FIRST_PICTURE_MS = 2000;
/** Target: time from an input that needs no request to the next frame (ms). */
const INPUT_MS = 100;

/** Whether the page handles a step alone or needs the server. */
type Answerer = "page" | "server";
/** Durations of each step (ms). */
type Times = Map<string, { readonly by: Answerer; readonly taken: number[] }>;

/** Measures the console in a browser. Returns no figures on a machine without a browser. */
export async function measureConsole(bench: Bench): Promise<CaseFigures> {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    bench.say("console: no Chrome or Chromium on this machine");
    return { tables: [], targets: [] };
  }
  const { data, secrets } = await bench.forest();
  const server = await ServeProcess.start(data, secrets);
  const browser = await chromium.launch({ executablePath, args: BROWSER_FLAGS });
  try {
    const times: Times = new Map();
    // The first round loads the objects and is not counted.
    for (let round = 0; round <= ROUNDS; round++) await walk(browser, server, round === 0 ? new Map() : times);
    const rows = [...times].map(([step, { by, taken }]): Row => {
      return { step, "answered by": by, "median ms": median(taken), "longest ms": Math.max(...taken) };
    });
    const slowest = (of: readonly Row[]) => Math.max(...of.map((row) => Number(row["median ms"])));
    const inputs = rows.filter((row) => row["answered by"] === "page");
    const name = `console at ${bench.tokens} tokens`;
    const targets = [
      { what: `${name}: first picture, ms`, got: slowest(rows.slice(0, 1)), atMost: FIRST_PICTURE_MS },
      { what: `${name}: longest input that needs no call, ms`, got: slowest(inputs), atMost: INPUT_MS },
    ];
    return { tables: [rows], targets };
  } finally {
    await browser.close();
    await server.stop();
  }
}

/** Opens the console in a new browser profile and visits its pages. */
async function walk(browser: Browser, { url, token }: ServeProcess, times: Times): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(WAIT_MS);
  // The Event Timing API reports the time from an input to the next frame.
  await page.addInitScript(`
    globalThis.inputs = [];
    new PerformanceObserver((list) => inputs.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "event", durationThreshold: 16, buffered: true });
  `);
  const note = (step: string, by: Answerer, ms: number) => {
    const known = times.get(step) ?? { by, taken: [] };
    known.taken.push(ms);
    times.set(step, known);
  };
  const open = async (step: string, act: () => Promise<unknown>, shown: string) => {
    const start = performance.now();
    await act();
    await picture(page, shown);
    note(step, "server", performance.now() - start);
  };
  /** Records the longest time from an input to its frame. The browser does not report times below 16 ms. */
  const input = async (step: string, act: () => Promise<unknown>) => {
    await page.evaluate("inputs.length = 0");
    await act();
    await picture(page, "body");
    note(step, "page", await page.evaluate("Math.max(16, ...inputs)"));
  };
  const link = (name: string) => () => page.getByRole("link", { name, exact: true }).click();
  await page.goto(`${url}/ui/?with=token`);
  await page.getByLabel("Token", { exact: true }).last().fill(token);
  await open("sign-in and first picture of the forest", () => page.keyboard.press("Enter"), "[data-area]");
  await input("colour the map by policy", () => page.getByText("Policy", { exact: true }).click());
  await input("move over 20 areas", async () => {
    const map = await page.locator(".treemap").boundingBox();
    for (let at = 0; at < 20 && map; at++) {
      await page.mouse.move(map.x + (map.width * (at + 1)) / 22, map.y + map.height / 2 + (at % 5) * 20);
    }
    await page.locator(".tip").waitFor();
  });
  await input("from area to area by keyboard, 10 times", async () => {
    await page.locator("[data-area][tabindex='0']").focus();
    for (let at = 0; at < 10; at++) await page.keyboard.press(at % 2 === 0 ? "ArrowRight" : "ArrowDown");
  });
  await input("into a method", async () => {
    await page.getByRole("button", { name: /^auth\/aws\// }).click({ position: { x: 30, y: 8 } });
    await page.getByRole("heading", { level: 1, name: "auth/aws/" }).waitFor();
  });
  const into = (address: RegExp) => async () => {
    // The largest area may stand for all unnamed trees together; it can't be opened.
    await page.locator("[data-area]:not(.frame, .hue-rest)").first().click();
    await page.waitForURL(address);
  };
  await open("into the trees of a service", into(/group=/), "[data-area]");
  await open("into a tree", into(/token=/), "[data-area]");
  await open("the token at its top", link("Open the token"), ".blast");
  await open("the table of tokens", link("Tokens"), "tr[aria-rowindex='50']");
  await open("what ends when", link("What ends when"), "a.bar");
  await page.close();
}

/** Waits until an element exists and the browser has painted a frame with it. */
async function picture(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
