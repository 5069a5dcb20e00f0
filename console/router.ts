import { useEffect, useState } from "preact/hooks";

const BASE = "/ui/";

/** Where the user is: the path below `/ui/`, and the query that pages keep their filters in. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Counts up when the user goes to where they are: the page is loaded anew. */
  readonly visit: number;
}

const listeners = new Set<() => void>();
let visits = 0;

function currentPlace(): Place {
  const { pathname, search } = window.location;
  return {
    path: pathname.startsWith(BASE) ? pathname.slice(BASE.length) : "",
    query: new URLSearchParams(search),
    visit: visits,
  };
}

/** The address of a page. Parts are encoded; parameters without a value are left out. */
export function href(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const words = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = words.length === 0 ? "" : `?${new URLSearchParams(words)}`;
  return BASE + parts.map(encodeURIComponent).join("/") + search;
}

/** Goes to a page of the console. */
export function go(address: string, how: "push" | "replace" = "push"): void {
  const here = window.location.pathname + window.location.search;
  if (address === here) visits += 1;
  else if (how === "push") window.history.pushState(null, "", address);
  else window.history.replaceState(null, "", address);
  for (const listener of listeners) listener();
}

/** The place, kept up to date. Links to pages of the console are followed without loading it again. */
export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const update = (): void => setPlace(currentPlace());
    const follow = (event: MouseEvent): void => {
      const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
      const link = event.target instanceof Element ? event.target.closest("a") : null;
      const address = link?.getAttribute("href") ?? "";
      if (!plain || event.defaultPrevented || !address.startsWith(BASE)) return;
      event.preventDefault();
      go(address);
      document.getElementById("main")?.focus();
      window.scrollTo(0, 0);
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
