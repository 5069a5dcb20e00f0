import { expect, it } from "vitest";
import { routingPath } from "../../../src/app/routing-path.ts";

it.each([
  ["/v1/sys/health", "/v1/sys/health"],
  ["/sys/health?x=%2F", "/sys/health"],
  ["/v1/%73ys/health", "/v1/sys/health"],
  ["/%73ys%2Fhealth", "/v1/sys/health"],
  ["/api/v2/%6Frganizations/a%20b", "/v1/organizations/a b"],
  // An encoded base path is none, and an encoded path is never that of the console.
  ["/%76%31/sys/health", "/v1/v1/sys/health"],
  ["/%75i/", "/v1/ui/"],
  ["/ui/tokens/a%20b", "/ui/tokens/a%20b"],
  // Refused when the request is read.
  ["/v1/sys/%zz", "/v1/sys/%zz"],
  ["/v1/organizations/%2e%2e%2fx", "/v1/organizations/%2e%2e%2fx"],
  ["/v1/sys/a%0Ab", "/v1/sys/a%0Ab"],
])("%s is matched as %s", (sent, matched) => {
  expect(routingPath(new Request(`http://grove.test${sent}`))).toBe(matched);
});
