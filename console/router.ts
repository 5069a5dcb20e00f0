import { useLayoutEffect, useState } from "preact/hooks";
import { BASE } from "./href.ts";
import { hasToken } from "./secret-detection.ts";

/** The current page: the path below `/ui/`, and the query, in which pages keep their filters. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Incremented when the user follows a link to the current page, which reloads it. */
  readonly visit: number;
}

const listeners = new Set<() => void>();
let visits = 0;

function currentPlace(): Place {
  const { pathname, search } = window.location;
  // The user typed a URL with a token. The browser's history may keep it, but no page, link or copy of the URL repeats
  // it.
  if (hasToken(pathname + search)) {
    window.history.replaceState(null, "", BASE);
    return { path: "", query: new URLSearchParams(), visit: visits };
  }
  return {
    path: pathname.startsWith(BASE) ? pathname.slice(BASE.length) : "",
    query: new URLSearchParams(search),
    visit: visits,
  };
}

/** Goes to a page of the console, unless its URL would contain a token. */
export function go(address: string, how: "push" | "replace" = "push"): void {
  if (hasToken(address)) return;
  const here = window.location.pathname + window.location.search;
  if (address === here) visits += 1;
  else if (how === "push") window.history.pushState(null, "", address);
  else window.history.replaceState(null, "", address);
  for (const listener of listeners) listener();
}

/** Moves the focus to the content of a new page, and scrolls to the top. */
export function beginAtTop(): void {
  document.getElementById("main")?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** The current place. Follows links to pages of the console without loading the console again. */
export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  // Before the first paint: a click on a link before that would reload the page and lose the token.
  useLayoutEffect(() => {
    const update = (): void => setPlace(currentPlace());
    const follow = (event: MouseEvent): void => {
      const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      const address = link?.getAttribute("href") ?? "";
      if (!plain || event.defaultPrevented || !address.startsWith(BASE)) return;
      event.preventDefault();
      go(address);
      beginAtTop();
    };
    listeners.add(update);
    window.addEventListener("popstate", update);
    document.addEventListener("click", follow);
    return () => {
      listeners.delete(update);
      window.removeEventListener("popstate", update);
      document.removeEventListener("click", follow);
    };
  }, []);
  return place;
}

/** The parts of a path, decoded. */
export function partsOf({ path }: Place): string[] {
  return path
    .split("/")
    .filter((part) => part !== "")
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
}
