import { aclOfRequest } from "../../auth/acl-of-request.ts";
import { type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { ok, type Result } from "../../base/result.ts";
import { groveVersion } from "../../base/version.ts";
import type { Mount } from "../../system/mount.ts";
import type { Reply } from "../../wire/reply.ts";
import { type DocumentedRoutes, openApiDocument } from "./document.ts";

/** All routes of the service. */
export interface RoutesByPlace {
  /** By full path. */
  readonly fixed: readonly Route[];
  /** Of the interface of teams, by full path. */
  readonly teams: readonly Route[];
  /** Of each type of auth mount, by the path below the mount. */
  readonly byMountType: ReadonlyMap<string, readonly Route[]>;
}

const FIELDS = {
  generic_mount_paths: {
    shape: "boolean",
    description: "True: the path of each auth mount is a parameter",
  },
  context: { shape: "string", description: "Not used" },
} as const;

/**
 * The OpenAPI document of the service. Without a token it is that of the interface; with one it has the mounts of the
 * installation that the caller reaches.
 *
 * @param routes asked when a request comes: the table holds this route too.
 */
export function openApiRoutes(routes: () => RoutesByPlace): readonly Route[] {
  return [
    openRoute(["read", "update"], "sys/internal/specs/openapi", {
      summary: "Answers this document.",
      operationId: {
        read: "internal-generate-open-api-document",
        update: "internal-generate-open-api-document-with-parameters",
      },
      fields: FIELDS,
      answers: plainAnswer({ openapi: "string", info: "object", paths: "object", components: "object", "*": "any" }),
      handle: (context) => answer(context, routes()),
    }),
  ];
}

/** The documents of everything, as this isolate wrote them: the same for everybody. */
const texts: { usual?: string; generic?: string } = {};

async function answer(context: OpenContext, routes: RoutesByPlace): Promise<Result<Reply>> {
  const version = groveVersion(context.env);
  if (isTrue(context.request.data.generic_mount_paths)) {
    texts.generic ??= JSON.stringify(openApiDocument(genericPlaces(routes), version));
    return document(texts.generic);
  }
  const mounts = await mountsReached(context);
  if (mounts) return document(JSON.stringify(openApiDocument(placesAt(routes, mounts), version)));
  texts.usual ??= JSON.stringify(openApiDocument(usualPlaces(routes), version));
  return document(texts.usual);
}

/** The whole interface, with each auth method at the path that is its name. */
export function usualPlaces(routes: RoutesByPlace): DocumentedRoutes[] {
  return placesAt(
    routes,
    [...routes.byMountType.keys()].map((type) => ({ type, path: `${type}/` })),
  );
}

/** The whole interface, with the path of each kind of mount as a parameter. That of the token method is always the same. */
function genericPlaces(routes: RoutesByPlace): DocumentedRoutes[] {
  const mounts = [...routes.byMountType.keys()].map((type): DocumentedMount => {
    if (type === "token") return { type, path: "token/" };
    const name = `${type}_mount_path`;
    return { type, path: `{${name}}/`, parameters: { [name]: `Path of the mount of the type ${type}` } };
  });
  return placesAt(routes, mounts);
}

/** An auth mount, with what the names in its path stand for. */
interface DocumentedMount extends Pick<Mount, "type" | "path"> {
  readonly parameters?: Readonly<Record<string, string>>;
}

function placesAt(
  { fixed, teams, byMountType }: RoutesByPlace,
  mounts: readonly DocumentedMount[],
): DocumentedRoutes[] {
  const methods = mounts.flatMap(({ type, path, parameters = {} }): DocumentedRoutes[] => {
    const routes = byMountType.get(type);
    return routes ? [{ routes, dialect: "vault", prefix: `auth/${path}`, parameters, idPrefix: `${type}-` }] : [];
  });
  return [
    { routes: fixed, dialect: "vault", prefix: "", parameters: {}, idPrefix: "" },
    { routes: teams, dialect: "json-api", prefix: "", parameters: {}, idPrefix: "" },
    ...methods,
  ];
}

/** The mounts that the caller reaches; null for a request without a good token. */
async function mountsReached(context: OpenContext): Promise<readonly Mount[] | null> {
  const { loaded } = context;
  const acl = loaded.ok ? await aclOfRequest(context, loaded.value) : null;
  if (!loaded.ok || !acl) return null;
  const now = currentTime();
  return loaded.value.mounts.filter(({ path }) => acl.grantsAnythingUnder(`auth/${path}`, now));
}

function document(text: string): Result<Reply, never> {
  return ok({ kind: "text", status: 200, mediaType: "application/json", text });
}

function isTrue(value: unknown): boolean {
  return value === true || value === "true" || value === "1";
}
