import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { Route } from "../auth/route.ts";
import { err, ok, type Result } from "../base/result.ts";
import type { Operation } from "../policy/acl.ts";

/** A route that serves a path, with the values of its parameters. */
interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes of one mount, matched with Hono's routers by operation and path. */
export class RouteTable {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter<Route>(), new TrieRouter<Route>()] });
  readonly #operations: ReadonlySet<Operation>;
  /** What the router found for routes without parameters, by operation and path: no more than there are routes. */
  readonly #plain = new Map<string, RouteMatch>();
  readonly routes: readonly Route[];

  constructor(routes: readonly Route[]) {
    this.routes = routes;
    for (const route of routes) {
      for (const operation of route.operations) this.#router.add(operation, `/${route.path}`, route);
    }
    this.#operations = new Set(routes.flatMap((route) => route.operations));
  }

  /** The route of an operation on a path, or the 404 or 405 that says why there is none. */
  match(operation: Operation, path: string): Result<RouteMatch> {
    const match = this.#find(operation, path);
    if (match) return ok(match);
    for (const other of this.#operations) {
      if (other !== operation && this.#find(other, path)) return err({ code: "unsupported_operation" });
    }
    return err({ code: "unsupported_path" });
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

  #find(operation: Operation, path: string): RouteMatch | null {
    const key = `${operation} ${path}`;
    const known = this.#plain.get(key);
    if (known) return known;
    const found = this.#ask(operation, path);
    if (found?.route.path === path) this.#plain.set(key, found);
    return found;
  }

  #ask(operation: Operation, path: string): RouteMatch | null {
    const [handlers, stash] = this.#router.match(operation, `/${path}`);
    const first = handlers[0];
    if (!first) return null;
    const [route, indices] = first;
    const params: Record<string, string> = {};
    for (const [name, value] of Object.entries(indices)) {
      params[name] = typeof value === "number" ? (stash?.[value] ?? "") : value;
    }
    return { route, params };
  }
}
