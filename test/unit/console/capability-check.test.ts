import { expect, it } from "vitest";
import { askedPath, capabilitiesPath, nameOfToken } from "../../../console/policies/asked-capabilities.ts";

it("a path is asked about as policies match it, wherever it was copied from", () => {
  const parameters = {};
  for (const typed of ["auth/token/create", " /v1/auth/token/create ", "v1/auth/token/create", "/auth/token/create"])
    expect(askedPath(typed)).toEqual({ asked: "auth/token/create", parameters });
  expect(askedPath("/v1/sys/tokens?policy=web&sort=end")).toEqual({
    asked: "sys/tokens",
    parameters: { policy: "web", sort: "end" },
  });
});

it("a token is named by its accessor, or in the body by its text", () => {
  const accessor = "a".repeat(84);
  const other = (text: string) => [nameOfToken(text), capabilitiesPath("other", nameOfToken(text))];
  expect(other(accessor)).toEqual([{ accessor }, "sys/capabilities-accessor"]);
  expect(other("custom-id")).toEqual([{ token: "custom-id" }, "sys/capabilities"]);
  expect([capabilitiesPath("self", {}), capabilitiesPath("policy", {})]).toEqual([
    "sys/capabilities-self",
    "sys/capabilities-policy",
  ]);
});
