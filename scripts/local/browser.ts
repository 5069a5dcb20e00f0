import { existsSync } from "node:fs";

/** Where Chrome and Chromium are on the systems that people develop on. */
const PLACES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** The browser of this machine, or the one that `CHROME_PATH` names; undefined where there is none. */
export function findBrowser(): string | undefined {
  return [process.env.CHROME_PATH ?? "", ...PLACES].find((place) => place !== "" && existsSync(place));
}

/** Words of Chromium's command line: its own sandbox can't be set up by root. */
export const BROWSER_FLAGS = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
