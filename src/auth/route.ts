import { type Failure, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { Operation } from "../policy/acl.ts";
import type { Installation } from "../system/installation.ts";
import type { CallerAction } from "../token/actions.ts";
import type { FieldSchema } from "../wire/fields.ts";
import { readFields, type SentNames } from "../wire/read-fields.ts";
import type { Reply } from "../wire/reply.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { AuthorizedCall } from "./authorize-call.ts";
import type { ParsedToken } from "./caller.ts";
import type { LoginRenewers } from "./login-renewal.ts";
import type { RouteDescription } from "./route-description.ts";

/** The fields of a request, by name, as they were sent. */
type SentData = Readonly<Record<string, unknown>>;

/** What every handler has at hand. */
export interface RequestContext {
  readonly env: Env;
  readonly request: GroveRequest;
  /** Named parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The part of the path that the mount's routes see. */
  readonly mountPath: string;
}

/** A request to an open endpoint, which can't assume that the service is initialised. */
export interface OpenContext extends RequestContext {
  /** The installation, or why there is none to work with. */
  readonly loaded: Result<Installation>;
}

/** A request to an installation that is initialised and not sealed. */
export interface ReadyContext extends RequestContext {
  readonly installation: Installation;
  /** The auth methods that there are, by type of mount. */
  readonly methods: LoginRenewers;
}

/** A request whose token was read but not yet found good. */
export interface TokenContext extends ReadyContext {
  readonly presented: ParsedToken;
}

/** The same, with its fields. */
export interface PresentedContext<F> extends TokenContext {
  readonly fields: F;
}

/** The same, with what the route made of its input. */
export interface PreparedContext<F, P> extends PresentedContext<F> {
  readonly prepared: P;
}

/** A request that the caller's policies allow. */
export interface CallContext<F = unknown, P = unknown> extends PreparedContext<F, P>, AuthorizedCall {}

/** What a handler gives: the answer, or why there is none. */
export type Answered = Promise<Result<Reply>>;

/** A request to log in, with its fields. It is not authorised. */
export interface LoginContext<F> extends ReadyContext {
  readonly fields: F;
}

interface RouteBase {
  readonly operations: readonly Operation[];
  /** Relative to the mount; `:name` is a segment, `:name{.+}` the rest. */
  readonly path: string;
  readonly description: RouteDescription;
  /** The name of a field as clients see it, where that is not the schema's. */
  readonly fieldName?: (name: string) => string;
}

/** An endpoint that answers without a token. */
export interface OpenRoute extends RouteBase {
  readonly access: "open";
  handle(context: OpenContext): Answered;
}

/** An endpoint for callers with a token whose policies allow it. */
export interface TokenRoute extends RouteBase {
  readonly access: "token";
  /** What the body or query may hold. */
  readonly fields: FieldSchema<unknown>;
  /** True when the path can hold a token, which then must not reach the audit line. */
  readonly secretPath?: boolean;
  /**
   * The one path below the mount that policies are evaluated for, where several requests mean the same: else a rule for
   * `admin` would not hold for `Admin`, nor one for `create/admin` for the role that a body names.
   */
  readonly canonicalPath?: (mountPath: string, data: SentData) => string;
  /**
   * Another path of the same thing that policies can name as well, if there is one. It may ask an object that exists: the
   * token was read, but not yet found good.
   */
  readonly alternatePath?: (
    context: Pick<ReadyContext, "env" | "installation">,
    path: string,
  ) => Promise<string | null>;
  /** The path below the mount whose quota counts its requests, where that is another: a client that calls both is counted once. */
  readonly countsAs?: string;
  /** True when a write needs `create` or `update` depending on what exists; the handler or the action checks which. */
  readonly createsOrUpdates?: boolean;
  /** Answers without a token, where the deployment allows that; null where it does not. */
  readonly openHandler?: (env: Env) => OpenRoute["handle"] | null;
  /** The failure for a caller without a good token or without the right, where it is not "permission denied". */
  refusal?(request: GroveRequest): Failure | null;
  /** Reads the input. Runs before the caller is authorised, so it neither writes nor wakes an object. */
  open(context: TokenContext, data: SentData): Promise<Result<OpenedCall>>;
}

/** A request whose input was read, with what the route does next. */
export interface OpenedCall {
  readonly sent: SentNames;
  /** The action for the hop that authenticates; null when there is nothing to do there. */
  action(): Promise<CallerAction | null>;
  /** Answers, after the policies allowed the request. */
  handle(authorized: AuthorizedCall): Answered;
}

/** The endpoint of an auth method that gives a token to a client that proves what the method asks for. A token is not looked at. */
export interface LoginRoute extends RouteBase {
  readonly access: "login";
  /** What the body may hold. */
  readonly fields: FieldSchema<unknown>;
  /** Reads the input. */
  open(context: ReadyContext, data: SentData): Result<OpenedLogin>;
}

/** A request to log in whose input was read. */
export interface OpenedLogin {
  readonly sent: SentNames;
  handle(): Answered;
}

export type Route = OpenRoute | LoginRoute | TokenRoute;

/** An endpoint that takes fields: what is said of it, and what its body or query may hold. */
interface Declared<F> extends RouteDescription {
  readonly input: FieldSchema<F>;
}

/** An endpoint for callers with a token. `F` are its fields, `P` what it makes of them. */
interface DeclaredToken<F, P>
  extends Declared<F>,
    Pick<TokenRoute, "canonicalPath" | "countsAs" | "createsOrUpdates" | "openHandler" | "refusal" | "secretPath"> {
  /** Checks the input. Runs before the caller is authorised, so it may neither write nor wake an object. */
  prepare(context: PresentedContext<F>): Promise<Result<P>>;
  /**
   * An action for the caller's own tree, performed in the hop that authenticates, after the policies allowed the request.
   * null when there is nothing to do there.
   */
  action?(context: PreparedContext<F, P>): Promise<CallerAction | null>;
  handle(context: CallContext<F, P>): Answered;
}

type Operations = Operation | readonly Operation[];

/** Defines an endpoint for callers with a token. */
export function tokenRoute<F, P>(operations: Operations, path: string, declared: DeclaredToken<F, P>): TokenRoute {
  const { summary, operationId, parameters, fields, answers, ...behaviour } = declared;
  const { input, prepare, action, handle, ...traits } = behaviour;
  return {
    access: "token",
    operations: listOf(operations),
    path,
    description: { summary, operationId, answers, ...(parameters && { parameters }), ...(fields && { fields }) },
    fields: input,
    ...traits,
    async open(context, data) {
      const read = readFields(input, data, context.request.unreadNames);
      if (!read.ok) return read;
      const presented: PresentedContext<F> = { ...context, fields: read.value.values };
      const prepared = await prepare(presented);
      if (!prepared.ok) return prepared;
      const ready: PreparedContext<F, P> = { ...presented, prepared: prepared.value };
      return ok({
        sent: read.value,
        action: async () => (action ? action(ready) : null),
        async handle(authorized) {
          const { limit } = authorized.verdict;
          if (limit === null) return handle({ ...ready, ...authorized });
          // A page has the size that the policies allow, whatever the client asks for. Here no list can forget it.
          const limited = readFields(input, { ...data, limit });
          return limited.ok ? handle({ ...ready, ...authorized, fields: limited.value.values }) : limited;
        },
      });
    },
  };
}

/** Defines an endpoint for callers with a token that needs nothing but the policies' consent. */
export function simpleRoute<F>(
  operations: Operations,
  path: string,
  declared: Declared<F> & Pick<DeclaredToken<F, null>, "handle">,
): TokenRoute {
  return tokenRoute<F, null>(operations, path, { ...declared, prepare: async () => ok(null) });
}

/** Defines an endpoint that needs no token. */
export function openRoute(
  operations: Operations,
  path: string,
  { handle, ...description }: RouteDescription & Pick<OpenRoute, "handle">,
): OpenRoute {
  return { access: "open", operations: listOf(operations), path, description, handle };
}

/** Defines the endpoint of an auth method where tokens are got. */
export function loginRoute<F>(
  path: string,
  { input, handle, ...description }: Declared<F> & { handle(context: LoginContext<F>): Answered },
): LoginRoute {
  return {
    access: "login",
    operations: ["update"],
    path,
    description,
    fields: input,
    open(context, data) {
      const read = readFields(input, data);
      if (!read.ok) return read;
      const { values } = read.value;
      return ok({ sent: read.value, handle: () => handle({ ...context, fields: values }) });
    },
  };
}

/** `routes`, with policies evaluated for the canonical form of their paths. */
export function withCanonicalPath(
  canonicalPath: NonNullable<TokenRoute["canonicalPath"]>,
  routes: readonly Route[],
): Route[] {
  return routes.map((route) => (route.access === "token" ? { ...route, canonicalPath } : route));
}

/** `routes`, with policies evaluated for an alternate path of each as well. */
export function withAlternatePath(
  alternatePath: NonNullable<TokenRoute["alternatePath"]>,
  routes: readonly Route[],
): Route[] {
  return routes.map((route) => (route.access === "token" ? { ...route, alternatePath } : route));
}

/** `routes`, with what the names in their paths stand for. What a route itself says of a name holds. */
export function withParameters(
  parameters: NonNullable<RouteDescription["parameters"]>,
  routes: readonly Route[],
): Route[] {
  return routes.map((route) => {
    const { description } = route;
    return { ...route, description: { ...description, parameters: { ...parameters, ...description.parameters } } };
  });
}

function listOf(operations: Operations): readonly Operation[] {
  return typeof operations === "string" ? [operations] : operations;
}
