import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { openApiDocument, usualPlaces } from "../../../src/app/openapi/document.ts";
import { TABLES } from "../../../src/app/routes.ts";
import { missingFrom } from "../../support/missing-descriptions.ts";

const { fixed, apis, byMountType } = TABLES;
const ALL = [...new Set([fixed, ...apis, ...byMountType.values()].flatMap(({ routes }) => routes))];
const DOCUMENT = openApiDocument(usualPlaces(TABLES), "0.0.0") as Document;

describe("descriptions of routes", () => {
  it("are complete", () => {
    const incomplete = ALL.flatMap((route) => {
      const missing = missingFrom(route);
      return missing.length > 0 ? [`${route.operations.join()} ${route.path}: ${missing.join(", ")}`] : [];
    });
    expect(incomplete).toEqual([]);
  });

  it("are reported as incomplete where something is left out", () => {
    const route = fixed.routes.find(({ operations }) => operations.join() === "read");
    if (!route) throw new Error("there are routes");
    const bare = { ...route, description: { summary: "", operationId: "", answers: [] } };
    expect(missingFrom(bare)).toEqual(["a summary", "an id for read", "answers to read", "fields"]);
  });
});

describe("the OpenAPI document", () => {
  it("is valid", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(DOCUMENT));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("gives every operation a name of its own", () => {
    const ids = operations(DOCUMENT.paths).map(({ operation }) => operation.operationId);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][a-z0-9-]*$/.test(id))).toEqual([]);
  });

  it("names each operation of root generation once for the older path and once for the newer", () => {
    const names = (path: string) =>
      METHODS.flatMap(
        (method) => DOCUMENT.paths[path]?.[method]?.operationId.replace("root-token-generation-", "") ?? [],
      );
    expect(names("/sys/generate-root/attempt")).toEqual(["read-progress", "initialize2", "cancel2"]);
    expect(names("/sys/generate-root/update")).toEqual(["update2"]);
    expect(names("/sys/generate-root-token/attempt")).toEqual(["read-progress2", "initialize", "cancel"]);
    expect(names("/sys/generate-root-token/update")).toEqual(["update"]);
  });

  it("refers only to what it has", () => {
    const text = JSON.stringify(DOCUMENT);
    const references = new Set(
      [...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
    );
    const known = Object.entries(DOCUMENT.components).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    );
    expect([...references].filter((reference) => !known.includes(reference))).toEqual([]);
  });

  it("tells every operation's answers, and what is refused", () => {
    const incomplete = operations(DOCUMENT.paths).filter(({ operation: { responses } }) => {
      const statuses = Object.keys(responses);
      return !statuses.some((status) => status.startsWith("2")) || !("default" in responses);
    });
    expect(incomplete.map(({ path }) => path)).toEqual([]);
  });

  it("translates the fields of a cloud method that has names of its own", () => {
    const fields = (type: string) => Object.keys(bodyOf(DOCUMENT.paths[`/auth/${type}/role/{role}`]?.post));
    expect(fields("cloud")).toContain("bound_image_id");
    expect(fields("aws")).toContain("bound_ami_id");
    expect(fields("aws")).not.toContain("bound_image_id");
  });
});

/** What the reference's document says and this one does not, and why. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  "/sys/internal/counters/requests": "the reference removed what it told",
  "/sys/internal/inspect/request": "not here",
  "/sys/internal/inspect/router/{tag}": "not here",
  "/sys/internal/ui/namespaces": "there are no namespaces",
  "/sys/internal/specs/openapi: parameters of the path": "a parameter of the operations here",
  "/sys/policies/detailed/acl: parameters of the path": "a parameter of the operation here",
  "/sys/policies/detailed/acl/{name}: parameters of the path": "a parameter of the operation here",
  "/sys/leases/lookup/: sudo": "of the operation here: one path looks up and lists",
  "post /sys/leases/renew: url_lease_id": "a part of the path",
  "post /sys/leases/revoke: url_lease_id": "a part of the path",
  "post /sys/mounts/{path}": "there are no other engines",
  "delete /sys/mounts/{path}": "there are no other engines",
  "post /sys/mounts/{path}/tune": "there are no other engines",
};

describe("the reference's OpenAPI document", () => {
  const reference = JSON.parse(readFileSync("test/data/openapi-reference.json", "utf8")) as Record<
    string,
    ReferenceItem
  >;
  const found = Object.entries(reference).flatMap(([path, item]) => differences(path, item));

  it("has the same names of operations, and the same names and types of parameters", () => {
    expect(found.filter((difference) => !(difference in DIFFERENCES))).toEqual([]);
  });

  it("differs only where it is said why", () => {
    expect(Object.keys(DIFFERENCES).filter((difference) => !found.includes(difference))).toEqual([]);
  });
});

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Schema {
  readonly type?: string;
  readonly deprecated?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Item extends Readonly<Partial<Record<Method, Operation>>> {
  readonly parameters?: readonly { readonly name: string }[];
  readonly "x-vault-sudo"?: boolean;
}
type Document = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Item>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};
interface ReferenceItem
  extends Readonly<
    Partial<
      Record<
        Method,
        {
          readonly operationId: string;
          readonly query?: readonly string[];
          /** Types by name; `?` at the end of a deprecated one. */
          readonly body?: Readonly<Record<string, string>>;
        }
      >
    >
  > {
  readonly pathParameters: readonly string[];
  readonly "x-vault-sudo"?: boolean;
}

const METHODS = ["get", "post", "patch", "delete"] as const;
type Method = (typeof METHODS)[number];

function operations(paths: Document["paths"]) {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation ? [{ path: `${method} ${path}`, operation }] : [];
    }),
  );
}

function bodyOf(operation: Operation | undefined): Readonly<Record<string, Schema>> {
  const [content] = Object.values(operation?.requestBody?.content ?? {});
  return content?.schema.properties ?? {};
}

/** What the reference says of a path that is not so here. */
function differences(path: string, item: ReferenceItem): string[] {
  const ours = DOCUMENT.paths[path.replace(/(.)\/$/, "$1")];
  if (!ours) return [path];
  const names = (ours.parameters ?? []).map(({ name }) => name);
  const sudo = item["x-vault-sudo"] === true && ours["x-vault-sudo"] !== true;
  return [
    ...(names.join() === item.pathParameters.join() ? [] : [`${path}: parameters of the path`]),
    ...(sudo ? [`${path}: sudo`] : []),
    ...METHODS.flatMap((method) => {
      const theirs = item[method];
      if (!theirs) return [];
      const operation = ours[method];
      if (!operation) return [`${method} ${path}`];
      const query = (operation.parameters ?? []).map(({ name }) => name);
      const body = bodyOf(operation);
      return [
        ...(operation.operationId === theirs.operationId ? [] : [`${method} ${path}: operationId`]),
        ...(theirs.query ?? []).filter((name) => !query.includes(name)).map((name) => `${method} ${path}: ${name}`),
        ...Object.entries(theirs.body ?? {})
          .filter(([name, type]) => `${body[name]?.type}${body[name]?.deprecated ? "?" : ""}` !== type)
          .map(([name]) => `${method} ${path}: ${name}`),
      ];
    }),
  ];
}
