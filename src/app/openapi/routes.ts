import { aclOfRequest } from "../../auth/caller.ts";
import { type OpenContext, openRoute, type Route } from "../../auth/route.ts";
import { plainAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { ok, type Result } from "../../base/result.ts";
import { groveVersion } from "../../base/version.ts";
import type { Mount } from "../../system/mount.ts";
import type { Reply } from "../../wire/reply.ts";
import type { Tables } from "../places.ts";
import { type DocumentedRoutes, openApiDocument } from "./document.ts";

/** An auth mount, with descriptions of the names in its path. */
interface DocumentedMount extends Pick<Mount, "type" | "path"> {
  readonly parameters?: Readonly<Record<string, string>>;
}

/**
 * Returns the route of the OpenAPI document. Without a token the document describes the whole interface. With a token it has
 * the mounts that the caller can access. `tables` is a function, because they include this route.
 */
export function openApiRoutes(tables: () => Tables): readonly Route[] {
  return [
    openRoute(["read", "update"], "sys/internal/specs/openapi", {
      summary: "Answers this document.",
      operationId: {
        read: "internal-generate-open-api-document",
        update: "internal-generate-open-api-document-with-parameters",
      },
      fields: {
        generic_mount_paths: {
          shape: "boolean",
          description: "True: the path of each auth mount is a parameter",
        },
        context: { shape: "string", description: "Not used" },
      },
      answers: plainAnswer({ openapi: "string", info: "object", paths: "object", components: "object", "*": "any" }),
      handle: (context) => answer(context, tables()),
    }),
  ];
}

/** The documents of the whole interface, made once in each isolate. They are the same for all callers. */
const texts: { usual?: string; generic?: string } = {};

async function answer(context: OpenContext, routes: Tables): Promise<Result<Reply>> {
  const textOf = (places: DocumentedRoutes[]) => JSON.stringify(openApiDocument(places, groveVersion(context.env)));
  const document = (text: string): Reply => ({ kind: "text", status: 200, mediaType: "application/json", text });
  const { generic_mount_paths: generic } = context.request.data;
  if (generic === true || generic === "true" || generic === "1") {
    texts.generic ??= textOf(genericPlaces(routes));
    return ok(document(texts.generic));
  }
  const mounts = await accessibleMounts(context);
  if (mounts) return ok(document(textOf(placesAt(routes, mounts))));
  texts.usual ??= textOf(usualPlaces(routes));
  return ok(document(texts.usual));
}

/** Returns the mounts that the caller can access; null for a request without a valid token. */
async function accessibleMounts(context: OpenContext): Promise<readonly Mount[] | null> {
  const { loaded } = context;
  const acl = loaded.ok ? await aclOfRequest(context.env, loaded.value, context.request) : null;
  if (!loaded.ok || !acl) return null;
  const now = currentTime();
  return loaded.value.mounts.filter(({ path }) => acl.grantsAnythingUnder(`auth/${path}`, now));
}

/** Returns the whole interface, with each auth method mounted at the path of its name. */
export function usualPlaces(routes: Tables): DocumentedRoutes[] {
  return placesAt(
    routes,
    [...routes.byMountType.keys()].map((type) => ({ type, path: `${type}/` })),
  );
}

/** Returns the whole interface, with a parameter for the path of each type of mount. The path of the token method is fixed. */
function genericPlaces(routes: Tables): DocumentedRoutes[] {
  const mounts = [...routes.byMountType.keys()].map((type): DocumentedMount => {
    if (type === "token") return { type, path: "token/" };
    const name = `${type}_mount_path`;
    return { type, path: `{${name}}/`, parameters: { [name]: `Path of the mount of the type ${type}` } };
  });
  return placesAt(routes, mounts);
}

function placesAt({ fixed, teams, byMountType }: Tables, mounts: readonly DocumentedMount[]): DocumentedRoutes[] {
  const full = { prefix: "", parameters: {}, idPrefix: "" };
  const methods = mounts.flatMap(({ type, path, parameters = {} }): DocumentedRoutes[] => {
    const routes = byMountType.get(type)?.routes;
    return routes ? [{ routes, dialect: "vault", prefix: `auth/${path}`, parameters, idPrefix: `${type}-` }] : [];
  });
  return [
    { ...full, routes: fixed.routes, dialect: "vault" },
    { ...full, routes: teams.routes, dialect: "json-api" },
    ...methods,
  ];
}
