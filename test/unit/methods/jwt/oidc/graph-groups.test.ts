import { describe, expect, it } from "vitest";
import { leavesGroupsOut } from "../../../../../src/methods/jwt/claims.ts";
import { readMemberObjects } from "../../../../../src/methods/jwt/oidc/graph-groups.ts";

const ID = "6b3c3f3a-0000-4000-8000-0123456789ab";

describe("groups that a token leaves out", () => {
  it.each([
    [true, { _claim_names: { groups: "src1" } }, "groups"],
    [true, { _claim_names: { groups: "src1" } }, "/groups"],
    [false, { _claim_names: { groups: "src1" }, groups: [ID] }, "groups"],
    [false, { _claim_names: { groups: "src1" }, groups: [] }, "groups"],
    [false, { _claim_names: { other: "src1" } }, "groups"],
    [false, { _claim_names: "groups" }, "groups"],
    [false, { _claim_names: {} }, "__proto__"],
    [false, { _claim_names: { "": "src1" } }, ""],
    [false, {}, "groups"],
  ])("%s for %j with the claim %j", (expected, claims, name) => {
    expect(leavesGroupsOut(claims, name)).toBe(expected);
  });
});

describe("an answer of Microsoft Graph", () => {
  it("lists the ids of groups", () => {
    expect(readMemberObjects({ "@odata.context": "x", value: [ID] })).toEqual({ ok: true, value: [ID] });
    expect(readMemberObjects({ value: [] })).toEqual({ ok: true, value: [] });
  });

  it.each([
    [{}, "no list of groups"],
    [{ value: "admins" }, "no list of groups"],
    [{ value: [ID, 1] }, "no list of groups"],
    [{ value: [ID, "admins"] }, "no list of groups"],
    [{ value: [ID], "@odata.nextLink": "https://graph.microsoft.com/v1.0/more" }, "only a part"],
  ])("is refused when it is %j", (answer, message) => {
    expect(readMemberObjects(answer)).toEqual({ ok: false, error: expect.stringContaining(message) });
  });
});
