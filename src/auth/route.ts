import { type Failure, ok, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import type { OtherPaths } from "../policy/acl.ts";
import type { Operation } from "../policy/operation.ts";
import type { Installation } from "../system/installation.ts";
import type { Mount } from "../system/mount.ts";
import type { CallerAction } from "../token/actions.ts";
import { type FieldSchema, NO_FIELDS, readFields, type SentNames } from "../wire/field-schema.ts";
import type { Reply } from "../wire/reply.ts";
import type { GroveRequest } from "../wire/request.ts";
import type { AuthorizedCall } from "./authorize-call.ts";
import type { ParsedToken } from "./read-token.ts";
import type { RouteDescription } from "./route-description.ts";

type SentData = Readonly<Record<string, unknown>>;

export interface RequestContext {
  readonly env: Env;
  readonly request: GroveRequest;
  readonly params: Readonly<Record<string, string>>;
}

/** A request to an open endpoint. The service may be sealed or not initialised. */
export interface OpenContext extends RequestContext {
  /** The installation, or why it can't be used: for example "sealed" or "uninitialized". */
  readonly loaded: Result<Installation>;
}

/** A request to an installation that is initialised and not sealed. */
export interface ReadyContext extends RequestContext {
  readonly installation: Installation;
  /** Counts a login under the quota of a role that only its proof names. A failure refuses the login. */
  readonly admitRole: (role: string) => Promise<Result<null>>;
}

/** A request with its fields. A login has no caller, and no policies are evaluated for it. */
export interface LoginContext<F> extends ReadyContext {
  readonly fields: F;
}

/** A request whose token was parsed. Whether the token is alive is not known yet. */
export interface PresentedContext<F> extends LoginContext<F> {
  readonly presented: ParsedToken;
}

/** An authorized request: the token is valid and its policies allow the request. */
export interface CallContext<F = unknown, P = unknown> extends PresentedContext<F>, AuthorizedCall {
  readonly prepared: P;
}

export type Answered = Promise<Result<Reply>>;

interface RouteBase {
  readonly operations: readonly Operation[];
  /** Relative to the mount. `:name` matches one segment, `:name{.+}` the rest of the path. */
  readonly path: string;
  readonly description: RouteDescription;
  /** Returns the name of a field as clients see it, where it differs from the schema's. */
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
  readonly fields: FieldSchema<unknown>;
  /** The schema by which a null field is absent, see `withoutNulls`; by default `fields`. */
  readonly nullsBy?: FieldSchema<unknown>;
  /** True when the path can contain a token. The audit line then has the pattern of the path. */
  readonly secretPath?: boolean;
  /**
   * Returns the path below the mount for which policies are evaluated, where several spellings mean the same resource:
   * a client could avoid a rule for `admin` with `Admin`, or a rule for `create/admin` by naming the role in the body.
   */
  readonly canonicalPath?: (mountPath: string, data: SentData) => string;
  /**
   * Returns the other paths of the same resource, or of those that the body names, that policies can name as well; null
   * when there are none. It runs before the token is authenticated, so it may read from an existing object, but must not
   * create one.
   */
  readonly otherPaths?: (
    context: Pick<ReadyContext, "env" | "installation">,
    path: string,
    data?: SentData,
  ) => Promise<OtherPaths | null>;
  /** The path below the mount with which this route shares one rate limit; absent: it has its own. */
  readonly countsAs?: string;
  /** True when a write of a new resource needs `create`, and else `update`. The handler or the action checks that. */
  readonly createsOrUpdates?: boolean;
  /** Returns a handler that needs no token, if the deployment allows that for this endpoint; else null. */
  readonly openHandler?: (env: Env) => OpenRoute["handle"] | null;
  /** Returns the failure that replaces a refusal of the caller ("permission denied"); null keeps that refusal. */
  refusal?(request: GroveRequest): Failure | null;
  open(context: Omit<PresentedContext<unknown>, "fields">, data: SentData): Promise<Result<OpenedCall>>;
}

/** A request whose input was read, with the next steps of the route. */
interface OpenedCall {
  readonly sent: SentNames;
  action(): Promise<CallerAction | null>;
  handle(authorized: AuthorizedCall): Answered;
}

/**
 * An endpoint of an auth method where a client logs in: it gets a token for a proof, or takes a step towards that. A
 * token in the request is ignored. Every step is counted under the limits of logins.
 */
export interface LoginRoute extends RouteBase {
  readonly access: "login";
  /** True for a step that never gives a token: it does not count as a login in metrics. */
  readonly isStep?: true;
  /** True when an earlier step named the role, and no field does. */
  readonly roleFromStep?: true;
  /** True when pages of other sites may call it too. Its handler decides what they may do. */
  readonly fromAnyPage?: true;
  readonly fields: FieldSchema<unknown>;
  open(context: ReadyContext, data: SentData): Result<{ readonly sent: SentNames; handle(): Answered }>;
}

export type Route = OpenRoute | LoginRoute | TokenRoute;

/** The part of a request's context that identifies its auth mount. */
type AtMount = Pick<ReadyContext, "request" | "installation">;

/** Returns the auth mount of a request to a route of an auth method. @throws when no mount serves its path: a bug. */
export function mountOf({ request, installation }: AtMount): Mount {
  const mount = installation.mountServing(request.path);
  if (!mount) throw new Error("a route of an auth method has a mount");
  return mount;
}

interface Declared<F> extends RouteDescription {
  readonly input?: FieldSchema<F>;
}

/** Makes `input` required of an endpoint whose handler reads fields. */
type Input<F> = unknown extends F ? { readonly input?: FieldSchema<F> } : { readonly input: FieldSchema<F> };

/** An endpoint for callers with a token. `F` is the type of its fields, `P` that of the result of `prepare`. */
interface DeclaredToken<F, P> extends Declared<F>, Omit<TokenRoute, keyof RouteBase | "access" | "fields" | "open"> {
  /**
   * Checks the input as far as possible without stored data, because a request that is refused here costs the
   * token no use. Runs before the caller is authorised, so it must neither write nor wake an object. The only object
   * that it may read is the directory of custom ids, for a token in the body.
   */
  prepare(context: PresentedContext<F>): Promise<Result<P>>;
  /** Returns an action that the caller's own tree performs after the policies allowed the request; null for none. */
  action?(context: Omit<CallContext<F, P>, keyof AuthorizedCall>): Promise<CallerAction | null>;
  handle(context: CallContext<F, P>): Answered;
}

type Operations = Operation | readonly Operation[];

/** Defines an endpoint for callers with a token. */
export function tokenRoute<F, P>(
  operations: Operations,
  path: string,
  declared: DeclaredToken<F, P> & Input<F>,
): TokenRoute {
  return routeOf(operations, path, declared);
}

function routeOf<F, P>(operations: Operations, path: string, declared: DeclaredToken<F, P>): TokenRoute {
  const { summary, operationId, parameters, fields, answers, ...behaviour } = declared;
  const { input = NO_FIELDS as FieldSchema<F>, prepare, action, handle, ...traits } = behaviour;
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
      const presented = { ...context, fields: read.value.values };
      const prepared = await prepare(presented);
      if (!prepared.ok) return prepared;
      const ready = { ...presented, prepared: prepared.value };
      return ok({
        sent: read.value,
        action: async () => (action ? action(ready) : null),
        async handle(authorized) {
          const { limit } = authorized.verdict;
          if (limit === null) return handle({ ...ready, ...authorized });
          // Policies limit the page size of lists. Applied here, the limit holds for every list route.
          const limited = readFields(input, { ...data, limit });
          return limited.ok ? handle({ ...ready, ...authorized, fields: limited.value.values }) : limited;
        },
      });
    },
  };
}

/** Defines an endpoint for callers with a token that needs no preparation and no action: only the policies decide. */
export function simpleRoute<F>(
  operations: Operations,
  path: string,
  declared: Declared<F> & Pick<DeclaredToken<F, null>, "handle"> & Input<F>,
): TokenRoute {
  return routeOf<F, null>(operations, path, { ...declared, prepare: async () => ok(null) });
}

/** Defines an endpoint that needs no token. It has no fields unless its description lists them. */
export function openRoute(
  operations: Operations,
  path: string,
  { handle, ...description }: RouteDescription & Pick<OpenRoute, "handle">,
): OpenRoute {
  return { access: "open", operations: listOf(operations), path, description: { fields: {}, ...description }, handle };
}

type LoginTraits = Pick<LoginRoute, "isStep" | "roleFromStep" | "fromAnyPage">;

interface DeclaredLogin<F> extends RouteDescription, LoginTraits {
  readonly input: FieldSchema<F>;
  handle(context: LoginContext<F>): Answered;
}

/** Defines a login endpoint of an auth method. */
export function loginRoute<F>(path: string, declared: DeclaredLogin<F>, operation: Operation = "update"): LoginRoute {
  const { input, handle, isStep, roleFromStep, fromAnyPage, ...description } = declared;
  return {
    access: "login",
    operations: [operation],
    path,
    description,
    fields: input,
    ...(isStep && { isStep }),
    ...(roleFromStep && { roleFromStep }),
    ...(fromAnyPage && { fromAnyPage }),
    open(context, data) {
      const read = readFields(input, data);
      if (!read.ok) return read;
      const { values } = read.value;
      return ok({ sent: read.value, handle: () => handle({ ...context, fields: values }) });
    },
  };
}

const fieldNames = new WeakMap<Route, ReadonlySet<string>>();

/** Returns the names of the fields that a route defines, as clients send them. */
export function fieldNamesOf(route: Route): ReadonlySet<string> {
  const known = fieldNames.get(route);
  if (known) return known;
  const { description, fieldName = (name: string) => name } = route;
  const read = route.access === "open" ? [] : route.fields.entries.map(([name]) => fieldName(name));
  const names = new Set([...read, ...Object.keys(description.fields ?? {})]);
  fieldNames.set(route, names);
  return names;
}

/** Returns `routes` with policies evaluated for the canonical form of their paths, or for other paths as well. */
export function withPolicyPaths(
  paths: Pick<TokenRoute, "canonicalPath" | "otherPaths">,
  routes: readonly Route[],
): Route[] {
  return routes.map((route) => (route.access === "token" ? { ...route, ...paths } : route));
}

/** Returns `routes` with descriptions of their path parameters. A description in the route itself takes precedence. */
export function withParameters(parameters: Readonly<Record<string, string>>, routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    const { description } = route;
    return { ...route, description: { ...description, parameters: { ...parameters, ...description.parameters } } };
  });
}

function listOf(operations: Operations): readonly Operation[] {
  return typeof operations === "string" ? [operations] : operations;
}
