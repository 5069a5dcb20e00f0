import { describe, expect, it } from "vitest";
import { isLogin } from "../../../console/audit/explain-request.ts";
import { KINDS } from "../../../src/app/registry.ts";
import { kindOfLine } from "../../../src/audit/query.ts";
import { isLoginPath, LOGIN_PATHS } from "../../../src/base/login-paths.ts";

const routes = [...KINDS.methods.values()].flatMap((method) => method.routes);
const pathsOf = (isMeant: (access: string) => boolean) =>
  new Set(routes.filter(({ access }) => isMeant(access)).map(({ path }) => path));

describe("the paths of logins", () => {
  it("are those at which the methods take logins and their steps", () => {
    expect(pathsOf((access) => access === "login")).toEqual(new Set(LOGIN_PATHS));
  });

  it("are known by the audit store and by the console, and no others are", () => {
    for (const below of pathsOf(() => true)) {
      const [mount, is] = ["auth/in/depth/", LOGIN_PATHS.includes(below)];
      const line = { type: "response", mount, path: `${mount}${below}`, status: 200 };
      expect([below, isLoginPath(line.path, mount), isLogin({ ...line, kind: "refusal", time: "" })]).toEqual([
        below,
        is,
        is,
      ]);
      expect(kindOfLine(line)).toBe(is ? "login" : "change");
    }
  });

  it("are below a mount of the line", () => {
    expect(isLoginPath("auth/ci/role/login", "auth/ci/")).toBe(false);
    expect(isLoginPath("auth/ci/login", "auth/other/")).toBe(false);
    expect(isLoginPath("login", "")).toBe(false);
  });
});
