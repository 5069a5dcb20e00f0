import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import type { Failure } from "../base/errors.ts";
import { ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation, Verdict } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { CallerAction, Outcome } from "../token/actions.ts";
import { type FieldSchema, type ReadFields, readFields } from "../wire/fields.ts";
import type { Reply } from "../wire/reply.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { Caller, Presented } from "./caller.ts";

/** What every handler has at hand. */
export interface RequestContext {
  readonly env: Env;
  readonly request: GroveRequest;
  /** Named parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The part of the path that the mount's routes see. */
  readonly mountPath: string;
}

/** A request whose token was read but not yet judged. */
export interface PresentedContext<F> extends RequestContext {
  readonly fields: F;
  readonly installation: Installation;
  readonly presented: Presented;
}

/** The same, with what the route made of its input. */
export interface PreparedContext<F, P> extends PresentedContext<F> {
  readonly prepared: P;
}

/** A request that the caller's policies allow. */
export interface CallContext<F, P> extends PreparedContext<F, P> {
  readonly caller: Caller;
  readonly verdict: Verdict;
  /** What was asked of the caller's own tree in the same hop; null when nothing was. */
  readonly action: CallerAction | null;
  /** What came of the action. */
  readonly outcome: Result<Outcome, Failure> | null;
}

interface RouteBase {
  readonly operations: readonly Operation[];
  /** Relative to the mount; `:name` is a segment, `:name{.+}` the rest. */
  readonly path: string;
  /** True when the path can hold a token, which then must not reach the audit line. */
  readonly secretPath?: boolean;
}

/** An endpoint that answers without a token. It can't assume that the service is initialised. */
export interface OpenRoute extends RouteBase {
  readonly access: "open";
  handle(context: RequestContext): Promise<Result<Reply, Failure>>;
}

/** An endpoint for callers with a token whose policies allow it. */
export interface TokenRoute<F, P> extends RouteBase {
  readonly access: "token";
  /**
   * The one spelling of a path below the mount, where several name the same thing. The policies judge that one: else a rule for `admin`
   * would not hold for `Admin`.
   */
  readonly spelling?: (mountPath: string) => string;
  /** True when a write needs `create` or `update` depending on what exists; the handler or the action checks which. */
  readonly createsOrUpdates?: boolean;
  readonly fields: (data: Readonly<Record<string, unknown>>) => Result<ReadFields<F>, Failure>;
  /** Reads and checks the input. Runs before the caller is judged, so it may neither write nor wake an object. */
  prepare(context: PresentedContext<F>): Promise<Result<P, Failure>>;
  /** What a caller without a good token or without the right is told in place of "permission denied", if anything else. */
  refusal?(request: GroveRequest): Failure | null;
  /**
   * An action for the caller's own tree, performed in the hop that authenticates, after the policies allowed the request.
   * null when there is nothing to do there.
   */
  action?(context: PreparedContext<F, P>): Promise<CallerAction | null>;
  handle(context: CallContext<F, P>): Promise<Result<Reply, Failure>>;
}

/** A request to log in, with its fields. Nobody has judged it. */
export interface LoginContext<F> extends RequestContext {
  readonly fields: F;
  readonly installation: Installation;
}

/** The endpoint of an auth method that gives a token to whoever proves what the method asks for. A token is not looked at. */
export interface LoginRoute<F> extends RouteBase {
  readonly access: "login";
  readonly fields: (data: Readonly<Record<string, unknown>>) => Result<ReadFields<F>, Failure>;
  handle(context: LoginContext<F>): Promise<Result<Reply, Failure>>;
}

/** A route of any field type. */
export type Route = OpenRoute | LoginRoute<never> | TokenRoute<never, never>;

/** Defines an endpoint for callers with a token. */
export function tokenRoute<F, P>(
  operations: Operation | readonly Operation[],
  path: string,
  schema: FieldSchema<F>,
  behaviour: Pick<TokenRoute<F, P>, "action" | "createsOrUpdates" | "handle" | "prepare" | "refusal" | "secretPath">,
): Route {
  const route: TokenRoute<F, P> = {
    access: "token",
    operations: typeof operations === "string" ? [operations] : operations,
    path,
    fields: (data) => readFields(schema, data),
    ...behaviour,
  };
  return route as unknown as Route;
}

/** Defines an endpoint for callers with a token that needs nothing but the policies' consent. */
export function simpleRoute<F>(
  operations: Operation | readonly Operation[],
  path: string,
  schema: FieldSchema<F>,
  handle: (context: CallContext<F, null>) => Promise<Result<Reply, Failure>>,
): Route {
  return tokenRoute<F, null>(operations, path, schema, { prepare: async () => ok(null), handle });
}

/** Defines an endpoint that needs no token. */
export function openRoute(
  operations: Operation | readonly Operation[],
  path: string,
  handle: OpenRoute["handle"],
): Route {
  return { access: "open", operations: typeof operations === "string" ? [operations] : operations, path, handle };
}

/** `routes`, whose paths the policies judge in one spelling. */
export function judgedAs(spelling: (mountPath: string) => string, routes: readonly Route[]): Route[] {
  return routes.map((route) => (route.access === "token" ? { ...route, spelling } : route));
}

/** Defines the endpoint of an auth method where tokens are got. */
export function loginRoute<F>(path: string, schema: FieldSchema<F>, handle: LoginRoute<F>["handle"]): Route {
  const fields = (data: Readonly<Record<string, unknown>>) => readFields(schema, data);
  const route: LoginRoute<F> = { access: "login", operations: ["update"], path, fields, handle };
  return route as unknown as Route;
}

/** What a table says about a path. */
export type RouteMatch =
  | { readonly found: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly found: "other_operation" }
  | { readonly found: "nothing" };

/** The routes of one mount, matched with Hono's routers by operation and path. */
export class RouteTable {
  readonly #router = new SmartRouter<Route>({ routers: [new RegExpRouter<Route>(), new TrieRouter<Route>()] });
  readonly #operations: ReadonlySet<Operation>;

  constructor(routes: readonly Route[]) {
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

  #find(operation: Operation, path: string): Extract<RouteMatch, { found: "route" }> | null {
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
