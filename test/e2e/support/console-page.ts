import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { PROJECT, type RunningServer } from "./server.ts";

/** Opens the console and signs in with a token. */
export async function signIn(page: Page, server: Pick<RunningServer, "address">, token: string): Promise<void> {
  await page.goto(`${server.address}/`);
  // Before a listed method, which would be the first choice.
  await page.getByText("Token", { exact: true }).first().click();
  await page.getByLabel("Token", { exact: true }).last().fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Goes to a place below `/ui/` as a link in the page does, and waits until all is there that it asks the server for. */
export async function openPlace(page: Page, place: string): Promise<void> {
  await page.evaluate(`{
    const link = document.createElement("a");
    link.href = "/ui/" + ${JSON.stringify(place)};
    document.body.append(link);
    link.click();
    link.remove();
  }`);
  // What a page asks it asks after its first picture.
  await page.evaluate(`new Promise((done) => {
    const look = () => (globalThis.asking === 0 && document.querySelector("h1") ? done() : setTimeout(look, 20));
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(look, 20)));
  })`);
}

/** Goes to a page by its link, as a reload would lose the token. */
export async function visit(page: Page, name: string): Promise<void> {
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: new RegExp(`^${name}`) })
    .click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/** `SCREENSHOTS=1` writes the pictures of the docs anew. */
export const TAKES_PICTURES = process.env.SCREENSHOTS === "1";
const PICTURES = join(PROJECT, "docs/images");

/** Writes a picture of the page, if pictures are taken, and another one in dark colours if that is asked. */
export async function picture(page: Page, name: string, { inDark = false } = {}): Promise<void> {
  if (!TAKES_PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.evaluate("scrollTo(0, 0)");
  await page.mouse.move(2, 2);
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  if (!inDark) return;
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: join(PICTURES, `${name}-dark.png`) });
  await page.emulateMedia({ colorScheme: "light" });
}
