import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { Route } from "../auth/route.ts";
import type { Operation } from "../policy/acl.ts";

/** What a table says about a path. */
export type RouteMatch =
  | { readonly found: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly found: "other_operation" }
  | { readonly found: "nothing" };

/** The routes of one mount, matched with Hono's routers by operation and path. */
export class RouteTable {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter<Route>(), new TrieRouter<Route>()] });
  readonly #operations: ReadonlySet<Operation>;
  /** What the router found for routes without parameters, by operation and path: no more than there are routes. */
  readonly #plain = new Map<string, Extract<RouteMatch, { found: "route" }>>();
  readonly routes: readonly Route[];

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) {
      for (const operation of route.operations) this.#router.add(operation, `/${route.path}`, route);
    }
    this.#operations = new Set(routes.flatMap((route) => route.operations));
  }

  /** Finds the route of an operation on a path. */
  match(operation: Operation, path: string): RouteMatch {
    const match = this.#find(operation, path);
    if (match) return match;
    for (const other of this.#operations) {
      if (other !== operation && this.#find(other, path)) return { found: "other_operation" };
    }
    return { found: "nothing" };
  }

  /** The routes that serve a path, each with its operations there. */
  serving(path: string): ReadonlyMap<Route, readonly Operation[]> {
    const found = new Map<Route, readonly Operation[]>();
    for (const operation of this.#operations) {
      const route = this.#find(operation, path)?.route;
      if (route) found.set(route, [...(found.get(route) ?? []), operation]);
    }
    return found;
  }

  #find(operation: Operation, path: string): Extract<RouteMatch, { found: "route" }> | null {
    const key = `${operation} ${path}`;
    const known = this.#plain.get(key);
    if (known) return known;
    const found = this.#ask(operation, path);
    if (found?.route.path === path) this.#plain.set(key, found);
    return found;
  }

  #ask(operation: Operation, path: string): Extract<RouteMatch, { found: "route" }> | null {
    const [handlers, stash] = this.#router.match(operation, `/${path}`);
    const first = handlers[0];
    if (!first) return null;
    const [route, indices] = first;
    const params: Record<string, string> = {};
    for (const [name, value] of Object.entries(indices)) {
      params[name] = typeof value === "number" ? (stash?.[value] ?? "") : value;
    }
    return { found: "route", route, params };
  }
}
