import type { Mount } from "../system/mount.ts";
import { ROUTE_PARAMETER } from "./route-parameter.ts";
import type { RouteTables } from "./route-tables.ts";

/** A segment of the path of an endpoint: a word, `one` for any text, or `rest` for all that follows. */
type Segment = { readonly word: string } | "one" | "rest";

/** A segment of the path of a rule. `begins`: it can go on in any way, also with more segments. */
type Asked = { readonly word: string } | { readonly begins: string } | "one";

/** The pattern of a parameter that takes slashes begins with a dot. */
const TAKES_SLASHES = /^\{\.[+*]/;

/** The segments of the path of a route. */
function segmentsOf(path: string): readonly Segment[] {
  const marked = path.replace(ROUTE_PARAMETER, (_, __, pattern = "") =>
    TAKES_SLASHES.test(pattern) ? ":rest" : ":one",
  );
  return partsOf(marked).map((part) => (part === ":rest" ? "rest" : part === ":one" ? "one" : { word: part }));
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

/** The segments of the path of a rule. A template can stand for any text. */
function askedSegments(path: string): readonly Asked[] {
  const isOpen = path.endsWith("*");
  const plain = (isOpen ? path.slice(0, -1) : path.replace(/\/$/, "")).replace(/\{\{.*?\}\}/g, "{{}}");
  const parts = plain.split("/");
  return parts.map((part, at) => {
    const [word = ""] = part.split("{{}}");
    if (isOpen && at === parts.length - 1) return { begins: word };
    return part === "+" || word !== part ? "one" : { word: part };
  });
}

/** True when a path can be matched by the rule and is one of the endpoint. */
function canMeet(asked: readonly Asked[], served: readonly Segment[]): boolean {
  for (const [at, one] of asked.entries()) {
    const other = served[at];
    if (other === "rest") return true;
    if (one !== "one" && "begins" in one) {
      // A list of `a` has the path `a/`.
      if (other === undefined) return one.begins === "";
      return other === "one" || other.word.startsWith(one.begins);
    }
    if (other === undefined) return false;
    if (one !== "one" && other !== "one" && one.word !== other.word) return false;
  }
  return asked.length === served.length;
}

/** True when the rule can be about something below a mount. */
function canReach(asked: readonly Asked[], mount: readonly Segment[]): boolean {
  return canMeet(asked, [...mount, "rest"]);
}

/**
 * Returns the paths of rules that no endpoint has, in the order of the rules: only other services can ask about them, or
 * they are mistyped. Paths of the interfaces of registered credentials are not judged: these have second spellings.
 */
export function unservedPaths(
  paths: readonly string[],
  { fixed, apis, byMountType }: RouteTables,
  mounts: readonly Pick<Mount, "path" | "type">[],
): string[] {
  const ofCredentials = new Set(apis.flatMap(({ routes }) => routes.map(({ path }) => path.split("/", 1)[0] ?? "")));
  const known = fixed.routes.map(({ path }) => segmentsOf(path));
  const below = mounts.map(({ path, type }) => ({
    at: partsOf(`auth/${path}`).map((word) => ({ word })),
    table: byMountType.get(type),
  }));
  return [...new Set(paths)].filter((path) => {
    const asked = askedSegments(path);
    const [first] = asked;
    if (first !== undefined && first !== "one" && "word" in first && ofCredentials.has(first.word)) return false;
    if (known.some((served) => canMeet(asked, served))) return false;
    return !below.some(
      ({ at, table }) =>
        canReach(asked, at) && table?.routes.some((route) => canMeet(asked, [...at, ...segmentsOf(route.path)])),
    );
  });
}
