import { type Browser, chromium, type Page } from "playwright-core";
import { BROWSER_FLAGS, findBrowser } from "../../local/browser.ts";
import { startGatewayProcess } from "../servers/gateway.ts";
import { GroveServer } from "../servers/grove.ts";
import { median } from "../statistics.ts";
import type { Bench } from "./bench.ts";
import { plantForest } from "./planted-forest.ts";

/** How often each step is done. */
const ROUNDS = 7;
const WAIT_MS = 60_000;

/** How long a person waits for the console, with a forest of this size. */
export interface ConsoleReport {
  readonly trees: number;
  readonly tokens: number;
  readonly steps: readonly ConsoleStep[];
}

/** One step of a person. Times in ms, from the input to the picture. */
export interface ConsoleStep {
  readonly step: string;
  /** An input is answered by the page alone, a page by the server. */
  readonly kind: "first picture" | "input" | "page";
  readonly median: number;
  readonly worst: number;
}

/** By step. */
type Times = Map<string, { readonly kind: ConsoleStep["kind"]; readonly taken: number[] }>;

/** Looks at a forest with a browser; null when this machine has none. */
export async function lookAtForest(bench: Bench, trees: number, tokens: number): Promise<ConsoleReport | null> {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    bench.say("console: no Chrome or Chromium on this machine");
    return null;
  }
  const { directory } = await plantForest(bench, trees, tokens);
  const server = await GroveServer.start(bench.build, directory);
  const gateway = await startGatewayProcess(server.socket);
  const browser = await chromium.launch({ executablePath, args: BROWSER_FLAGS });
  try {
    const { place } = gateway;
    const address = place.kind === "tcp" ? `http://${place.host}:${place.port}` : "";
    const times: Times = new Map();
    // The first round wakes the objects and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      await walk(browser, address, server.token, round === 0 ? new Map() : times);
    }
    const steps = [...times].map(([step, { kind, taken }]) => {
      return { step, kind, median: median(taken), worst: Math.max(...taken) };
    });
    return { trees, tokens, steps };
  } finally {
    await browser.close();
    await gateway.stop();
    await server.stop();
  }
}

/** Opens the console in a new profile, and goes through its pages as a user would. */
async function walk(browser: Browser, address: string, token: string, times: Times): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(WAIT_MS);
  await page.addInitScript(`sessionStorage.setItem("grove-token", ${JSON.stringify(token)})`);
  // Times of inputs as the browser itself takes them: until the next picture.
  await page.addInitScript(`
    globalThis.inputs = [];
    new PerformanceObserver((list) => inputs.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "event", durationThreshold: 16, buffered: true });
  `);
  const timed = async (
    step: string,
    act: () => Promise<unknown>,
    kind: ConsoleStep["kind"] = "page",
  ): Promise<void> => {
    const start = performance.now();
    await act();
    note(times, kind, step, performance.now() - start);
  };
  await timed(
    "first picture of the forest",
    async () => {
      await page.goto(`${address}/ui/`);
      await picture(page, "[data-area]:nth-of-type(20)");
    },
    "first picture",
  );
  await input(page, times, "colour the map by policy", () => page.getByText("Policy", { exact: true }).click());
  await input(page, times, "move over 20 areas", async () => {
    const map = await page.locator(".treemap").boundingBox();
    for (let at = 0; at < 20 && map; at++) {
      await page.mouse.move(map.x + (map.width * (at + 1)) / 22, map.y + map.height / 2 + (at % 5) * 20);
    }
    await page.locator(".tip").waitFor();
  });
  await input(page, times, "from area to area by keyboard, 10 times", async () => {
    await page.locator("[data-area][tabindex='0']").focus();
    for (let at = 0; at < 10; at++) await page.keyboard.press(at % 2 === 0 ? "ArrowRight" : "ArrowDown");
  });
  await input(page, times, "into a method", async () => {
    await page.getByRole("button", { name: /^auth\/aws\// }).click({ position: { x: 30, y: 8 } });
    await page.getByRole("heading", { level: 1, name: "auth/aws/" }).waitFor();
  });
  await timed("into a tree", async () => {
    // The largest area can be that of all trees without a name.
    await page.locator("[data-area]:not(.frame, .hue-rest)").first().click();
    await page.getByRole("link", { name: "Open the token" }).waitFor();
    await picture(page, "[data-area]");
  });
  await timed("the token at its top", async () => {
    await page.getByRole("link", { name: "Open the token" }).click();
    await picture(page, ".blast");
  });
  await timed("the table of tokens", async () => {
    await page.getByRole("link", { name: "Tokens", exact: true }).click();
    await picture(page, "tr[aria-rowindex='50']");
  });
  await timed("what ends when", async () => {
    await page.getByRole("link", { name: "What ends when" }).click();
    await picture(page, "a.bar");
  });
  await page.close();
}

/** Waits until it is there and has been painted. */
async function picture(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

/** Notes the longest time from an input of the step to its picture. What took less than 16 ms the browser does not tell. */
async function input(page: Page, times: Times, step: string, act: () => Promise<unknown>): Promise<void> {
  await page.evaluate("inputs.length = 0");
  await act();
  await picture(page, "body");
  const longest: number = await page.evaluate("Math.max(16, ...inputs)");
  note(times, "input", `${step} (longest input)`, longest);
}

function note(times: Times, kind: ConsoleStep["kind"], step: string, ms: number): void {
  const known = times.get(step) ?? { kind, taken: [] };
  known.taken.push(ms);
  times.set(step, known);
}
