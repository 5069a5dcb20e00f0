import { beforeEach, expect, it } from "vitest";
import type { AwsEnv } from "../../../../../src/methods/aws/env.ts";
import { forgetCopies, type LoginAsk } from "../../../../../src/methods/aws/mount/login-settings.ts";
import { configurationForLogin } from "../../../../../src/methods/aws/mount/mount-config.ts";
import type { Mount } from "../../../../../src/system/mount.ts";

/** An account whose id is also the name of a role. */
const NAME = "111111111111";

beforeEach(forgetCopies);

it("a role and an account of the same name have copies of their own", async () => {
  const asked: LoginAsk[] = [];
  const readForLogin = async (ask: LoginAsk) => {
    asked.push(ask);
    return {
      state: 1,
      settings: ask.settings ? "settings" : null,
      role: ask.roleName === null ? null : "role",
      stsRole: ask.accountId === null ? null : "account",
    };
  };
  const deployment = { moves: null };
  const env = { deployment, CLOUD_AUTH: { getByName: () => ({ readForLogin }) } } as unknown as AwsEnv;
  const access = { env, mount: { uuid: "mount", path: "aws/" } as Mount } as Parameters<
    typeof configurationForLogin
  >[0];

  expect(await configurationForLogin(access, NAME, null)).toMatchObject({ role: "role", stsRole: null });
  expect(await configurationForLogin(access, null, NAME)).toMatchObject({ role: null, stsRole: "account" });
  expect(await configurationForLogin(access, NAME, NAME)).toMatchObject({ role: "role", stsRole: "account" });
  expect(asked).toEqual([
    { settings: true, roleName: NAME, accountId: null },
    { settings: false, roleName: null, accountId: NAME },
  ]);
});
