import { err, type Result } from "../base/result.ts";
import type { Env } from "../env.ts";
import { type Installation, loadInstallation } from "../system/installation.ts";
import { checkCustomId } from "../token/ids.ts";
import { initialize } from "./initialize.ts";
import { isClosedTo } from "./setup.ts";

/**
 * Loads the installation for a request with this token. While a declared start is not complete, only its setup token
 * finds an installation. If GROVE_DEV_ROOT_TOKEN is set (development only) and there is no installation, makes one first
 * with it as the root token.
 */
export async function openInstallation(env: Env, token = ""): Promise<Result<Installation>> {
  const opened = await loadOrMake(env);
  return opened.ok && (await isClosedTo(opened.value, token)) ? err({ code: "uninitialized", begun: true }) : opened;
}

async function loadOrMake(env: Env): Promise<Result<Installation>> {
  const loaded = await loadInstallation(env);
  if (!loaded.ok && loaded.error.code === "uninitialized" && env.STORED_TOKENS === "true") {
    return err({ code: "uninitialized", lost: true });
  }
  if (!env.GROVE_DEV_ROOT_TOKEN || loaded.ok || loaded.error.code !== "uninitialized") return loaded;
  const problem = checkCustomId(env.GROVE_DEV_ROOT_TOKEN);
  if (problem) return err({ code: "sealed", message: `GROVE_DEV_ROOT_TOKEN can't be used: ${problem}` });
  // The result is ignored: a concurrent request may have initialised the installation first.
  await initialize(env, loaded, env.GROVE_DEV_ROOT_TOKEN);
  return loadInstallation(env);
}
