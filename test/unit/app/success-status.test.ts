import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";
import { DONE_OR_WARNED } from "../../../src/auth/route-description.ts";
import aws from "../../conformance/aws.json";
import cloud from "../../conformance/cloud.json";
import token from "../../conformance/token.json";
import { describedSuccess } from "../../support/described-answers.ts";
import type { Exchange } from "../../support/exchange.ts";
import { openApiOfUsualMounts } from "../../support/open-api.ts";

/**
 * The statuses of an operation that differ from those of the reference's document, and why. The document says 200 of every
 * write whose answers it does not describe. Tests in the Workers runtime compare each real answer with our document.
 */
const OTHERWISE: Readonly<Record<string, readonly [statuses: string, why: string]>> = {
  ...same("204", "no body: recorded", ["/auth/token/revoke", "/auth/token/revoke-orphan", "/auth/token/revoke-self"]),
  ...same("204", "no body", [
    "/cubbyhole/{path}",
    "/identity/entity/batch-delete",
    "/identity/entity/merge",
    "/identity/oidc/key/{name}",
    "/identity/oidc/key/{name}/rotate",
    "/identity/oidc/role/{name}",
  ]),
  ...same("200,204", "a new record is named, a change has no body", [
    "/identity/entity",
    "/identity/entity/id/{id}",
    "/identity/entity/name/{name}",
    "/identity/entity-alias",
    "/identity/entity-alias/id/{id}",
    "/identity/group",
    "/identity/group/id/{id}",
    "/identity/group/name/{name}",
    "/identity/group-alias",
    "/identity/group-alias/id/{id}",
  ]),
  ...same("200,204", "204 when there is none", ["/identity/lookup/entity", "/identity/lookup/group"]),
  ...same("202,204", "202 when it goes on after the answer", [
    "/sys/leases/revoke",
    "/sys/leases/revoke/{url_lease_id}",
    "/sys/leases/revoke-prefix/{prefix}",
    "/sys/leases/revoke-force/{prefix}",
  ]),
  ...same("200", "the lease, as the reference answers", ["/sys/leases/renew", "/sys/leases/renew/{url_lease_id}"]),
  ...same("202", "recorded", ["/sys/leases/tidy"]),
  ...same("200,202", "202 recorded; 200 while a run is in progress", ["/auth/token/tidy"]),
  ...same("200,204", "200 with a warning that the reference gives to the same request", [
    "/auth/token/revoke-accessor",
    "/identity/oidc/config",
    "/auth/token/roles/{role_name}",
    "/sys/policy/{name}",
    "/sys/policies/acl/{name}",
  ]),
  "patch /sys/policies/acl/{name}": ["200", "an empty envelope, as the reference answers"],
  "get /sys/internal/ui/resultant-acl": ["200", "every caller has policies"],
};

function same(statuses: string, why: string, paths: readonly string[]) {
  return Object.fromEntries(paths.map((path) => [`post ${path}`, [statuses, why]] as const));
}

type Paths = Readonly<
  Record<string, Readonly<Record<string, { readonly responses?: Readonly<Record<string, unknown>> } | undefined>>>
>;

const OURS = openApiOfUsualMounts<{ readonly paths: Paths }>().paths;
const THEIRS = JSON.parse(readFileSync("test/data/openapi-reference.json", "utf8")) as Paths;

const successOf = (operation: Paths[string][string]): string =>
  Object.keys(operation?.responses ?? {})
    .filter((status) => status.startsWith("2"))
    .join();

/** The writes, below their mounts, that answer 200 only with a warning. A warning of Grove's own changes no status. */
const WARNED = [
  "config", // of the JWT method
  "identity/oidc/config",
  "revoke-accessor",
  "role/:name", // of the JWT method
  "role/:role", // of the cloud method
  "role/:role_name", // of the approle method
  "roles/:role_name",
  "sys/policies/acl/:name",
  "sys/policy/:name",
];

describe("the status of every success", () => {
  it("is that of the reference's OpenAPI document, or it is said why not", () => {
    const different = Object.entries(THEIRS).flatMap(([path, item]) =>
      ["get", "post", "patch", "delete"].flatMap((method) => {
        const ours = successOf(OURS[path.replace(/(.)\/$/, "$1")]?.[method]);
        const isSame = ours === "" || item[method] === undefined || ours === successOf(item[method]);
        return isSame ? [] : [[`${method} ${path}`, ours] as const];
      }),
    );
    const explained = Object.entries(OTHERWISE).map(([operation, [statuses]]) => [operation, statuses] as const);
    expect(different.sort()).toEqual(explained.sort());
  });

  it("is that of the recorded exchanges", () => {
    const recorded = [token, aws, cloud].flat() as readonly Exchange[];
    const succeeded = recorded.filter(({ expect: { status } }) => status >= 200 && status < 300);
    const different = succeeded.filter(({ method, path, expect: { status } }) => {
      const described = describedSuccess(method, path.replace(/^\//, ""));
      return described !== null && !described.includes(String(status));
    });
    expect(different.map(({ name }) => name)).toEqual([]);
    expect(succeeded.length).toBeGreaterThan(100);
  });

  it("depends on warnings only where the reference gives them", () => {
    const { fixed, apis, byMountType } = TABLES;
    const routes = [fixed, ...apis, ...byMountType.values()].flatMap((table) => table.routes);
    const warned = routes.filter(({ description }) => description.answers === DONE_OR_WARNED);
    expect([...new Set(warned.map(({ path }) => path.replace(/\{.*\}/, "")))].sort()).toEqual(WARNED);
  });
});
