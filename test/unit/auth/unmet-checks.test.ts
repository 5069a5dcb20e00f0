import { expect, it } from "vitest";
import { unmetText } from "../../../src/auth/unmet-checks.ts";
import { APPROLE_CHECKS } from "../../../src/methods/approle/login.ts";
import { CHECKS } from "../../../src/methods/aws/login/check-list.ts";
import { JWT_CHECKS } from "../../../src/methods/jwt/login.ts";
import { OIDC_CHECKS } from "../../../src/methods/jwt/oidc/browser-checks.ts";
import { KUBERNETES_CHECKS } from "../../../src/methods/kubernetes/login.ts";

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...{ ...APPROLE_CHECKS, ...CHECKS, ...JWT_CHECKS },
  ...{ ...OIDC_CHECKS, ...KUBERNETES_CHECKS },
};

it.each(Object.entries(DESCRIPTIONS))("a refusal by the check %s says what is wrong", (name, description) => {
  expect(unmetText(name)).toMatch(/^[A-Z].*\.$/);
  expect(unmetText(name)).not.toBe(description);
});

it("names the claim of a role's own check, and says nothing of an unknown one", () => {
  expect(unmetText("secret_id")).toBe("The role has no such secret-id, or it has ended, or its uses are spent.");
  expect(unmetText("bound_claims.ref")).toBe('The claim "ref" has none of the values that the role is bound to.');
  expect(unmetText("claim_mappings.a.b")).toBe('The claim "a.b" can\'t be copied into the metadata of the token.');
  expect(unmetText("toString")).toBe("");
});
