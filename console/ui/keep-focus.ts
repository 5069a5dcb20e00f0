/** Ancestors that may take over the focus. */
const KEEPERS = "dialog, .treemap, .card, main";

/**
 * Keeps the focus nearby when the focused element is removed or disabled: a row that was deleted, or a dialog that was closed
 * after its button had gone. The browser would move it to the top of the page.
 *
 * @returns a function that stops it.
 */
export function keepFocus(): () => void {
  let last: Element | null = null;
  let around: readonly Element[] = [];
  /** The element that had the focus before a dialog opened. */
  let opener: Element | null = null;
  const note = ({ target }: FocusEvent): void => {
    if (!(target instanceof Element)) return;
    last = target;
    around = chainOf(target);
    if (!target.closest("dialog")) opener = target;
  };
  const check = (): void => {
    if (!last || (document.activeElement !== document.body && document.activeElement !== last)) return;
    if (last.isConnected && !last.matches(":disabled")) return;
    const dialog = around.find((element) => element.matches("dialog"));
    const before = dialog && !dialog.isConnected && opener ? [opener] : [];
    const keeper = [...before, ...around].find((one) => one !== last && one.isConnected && !one.matches(":disabled"));
    last = null;
    if (!(keeper instanceof HTMLElement)) return;
    if (keeper.matches(KEEPERS) && !keeper.hasAttribute("tabindex")) keeper.tabIndex = -1;
    keeper.focus({ preventScroll: true });
  };
  const observer = new MutationObserver(check);
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
  document.addEventListener("focusin", note);
  return () => {
    observer.disconnect();
    document.removeEventListener("focusin", note);
  };
}

/** The ancestors of an element that can take over the focus, the nearest first. */
function chainOf(element: Element): readonly Element[] {
  const chain: Element[] = [];
  for (let at = element.closest(KEEPERS); at; at = at.parentElement?.closest(KEEPERS) ?? null) chain.push(at);
  return chain;
}
