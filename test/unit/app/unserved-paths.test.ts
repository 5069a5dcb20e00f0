import { expect, it } from "vitest";
import { ROUTE_PARAMETER } from "../../../src/app/route-parameter.ts";
import { TABLES } from "../../../src/app/routes.ts";
import { unservedPaths } from "../../../src/app/unserved-paths.ts";

const MOUNTS = [
  { path: "token/", type: "token" },
  { path: "team/ci/", type: "approle" },
];
const unserved = (...paths: readonly string[]) => unservedPaths(paths, TABLES, MOUNTS);

it.each([
  "auth/token/create",
  "auth/token/create/deploy",
  "auth/token/*",
  "auth/token/roles/",
  "auth/team/+/login",
  "auth/team/ci/role/+/secret-id",
  "auth/team/+/role/{{identity.entity.name}}/secret-id",
  "auth/team/ci/role/web-{{identity.entity.name}}/secret-id",
  "auth/t*",
  "*",
  "sys/policies/acl/{{identity.entity.metadata.team}}*",
  "sys/auth/team/ci/tune",
  "sys/leases/lookup/db/creds/*",
  "cubbyhole/a/b/c",
  "identity/lookup/+",
  "organizations/acme/anything/there",
])("a rule for %s is about an endpoint", (path) => {
  expect(unserved(path)).toEqual([]);
});

it.each([
  "auth/tokens/create",
  "auth/token/creat",
  "auth/token/create/deploy/more",
  "auth/approle/login",
  "auth/team/ci/roles/web",
  "auth/x*",
  "sys/doctor/more",
  "auth/+/login",
  "sys/token",
  "secret/data/web",
])("a rule for %s is about none", (path) => {
  expect(unserved(path)).toEqual([path]);
});

it("every path of the interface is one that a rule can name", () => {
  const paths = TABLES.fixed.routes.map(({ path }) => path.replace(ROUTE_PARAMETER, "a"));
  expect(unserved(...paths)).toEqual([]);
});
