import type { Page } from "playwright-core";
import type { RunningServer } from "./server.ts";

/** Opens the console and signs in with a token. */
export async function signIn(page: Page, server: Pick<RunningServer, "address">, token: string): Promise<void> {
  await page.goto(`${server.address}/`);
  await page.getByLabel("Token", { exact: true }).last().fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Goes to a page by its link, as a reload would lose the token. */
export async function visit(page: Page, name: string): Promise<void> {
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: new RegExp(`^${name}`) })
    .click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}
