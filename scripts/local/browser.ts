import { existsSync } from "node:fs";

/** Usual paths of Chrome and Chromium. The headless shell takes a third less CPU: it has no windows to draw. */
const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** The browser of this machine, or the one that `CHROME_PATH` names; undefined without a browser. */
export function findBrowser(): string | undefined {
  return [process.env.CHROME_PATH ?? "", ...PLACES].find((place) => place !== "" && existsSync(place));
}

/** Flags for Chromium: root can't set up its sandbox. */
export const BROWSER_FLAGS = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
