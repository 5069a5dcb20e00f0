import type { Page } from "playwright-core";
import { expect } from "vitest";

/** More stops than any page has: what takes longer is a trap. */
const MOST_STOPS = 400;

/** In the page: the focus, when it is in the content. Shown: what has it is in view and has an outline, or its label has. */
const STOP = `(() => {
  const element = document.activeElement;
  if (!element || !document.getElementById("main").contains(element)) return null;
  stops.add(element);
  const outlined = [element, element.closest("label")].some((one) => {
    const { outlineStyle, outlineWidth } = one ? getComputedStyle(one) : { outlineStyle: "none" };
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  });
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const isInView = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return outlined && isInView ? "" : element.outerHTML.slice(0, 200);
})()`;

/** In the page: what Tab did not come to. Of the radio buttons of one choice it comes to the one that is chosen. */
const MISSED = `[...document.querySelectorAll(
  "#main :is(a[href], button, input, select, textarea, summary, [tabindex='0']):not(:disabled, [tabindex='-1'])",
)]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !(element.type === "radio" && !element.checked))
  .filter((element) => !stops.has(element))
  .map((element) => element.outerHTML.slice(0, 200))`;

/** Goes through the content of a page by Tab: to each control in it, with the focus in view, and out at its end. */
export async function expectReachable(page: Page): Promise<void> {
  await page.evaluate(`globalThis.stops = new Set(); document.getElementById("main").focus()`);
  const unseen: string[] = [];
  for (let stop = 0; ; stop++) {
    expect(stop, `stops of ${page.url()}`).toBeLessThan(MOST_STOPS);
    await page.keyboard.press("Tab");
    const found: string | null = await page.evaluate(STOP);
    if (found === null) break;
    if (found !== "") unseen.push(found);
  }
  expect(unseen, `focus that is not shown: ${page.url()}`).toEqual([]);
  expect(await page.evaluate(MISSED), `out of reach: ${page.url()}`).toEqual([]);
}

/** Presses Tab until a control has the focus, by its accessible name. */
export async function tabTo(
  page: Page,
  role: "button" | "checkbox" | "combobox" | "link" | "radio" | "textbox" | "searchbox",
  name: string | RegExp,
): Promise<void> {
  const wanted = page.getByRole(role, { name, exact: true }).first();
  await wanted.waitFor();
  for (let stop = 0; stop < MOST_STOPS; stop++) {
    await page.keyboard.press("Tab");
    if ((await wanted.and(page.locator(":focus")).count()) > 0) return;
  }
  throw new Error(`Tab does not lead to ${role} ${name}`);
}

/** Where the focus is: the label of the nearest dialog, section or control that has it; "" at the top of the page. */
export function focusedLabel(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const element = document.activeElement;
    if (element === document.body) return "";
    const by = element.getAttribute("aria-labelledby");
    return (element.getAttribute("aria-label") ?? (by && document.getElementById(by)?.textContent) ?? element.textContent ?? element.id).trim();
  })()`);
}

/** The label of the field that has the focus; "" when none has it. */
export function focusedField(page: Page): Promise<string> {
  return page.evaluate(`document.activeElement.labels?.[0]?.textContent.trim() ?? ""`);
}
