import { issueLogin } from "../../src/auth/issue-login.ts";
import { loadInstallation } from "../../src/system/installation.ts";
import { PLAIN_LOGIN } from "./plain-login.ts";
import { bindings } from "./service.ts";

/**
 * The auth mount at `path` as this isolate knows it, with logins that its method has verified: they go on with that knowledge
 * whatever happens to the mount.
 *
 * @param policies of each token.
 */
export async function issuingMount(path: string, policies: readonly string[] = ["maker"]) {
  const installation = await loadInstallation(bindings);
  const mount = installation.ok ? installation.value.mountAt(`${path}/`) : undefined;
  if (!installation.ok || !mount) throw new Error("the mount is there");
  const login = async (tokenType: "default" | "batch" = "default") =>
    issueLogin(bindings, installation.value, mount, { ...PLAIN_LOGIN, policies, tokenType, ttl: 600 });
  const token = async (tokenType: "default" | "batch" = "default") => {
    const issued = await login(tokenType);
    if (!issued.ok) throw new Error(JSON.stringify(issued.error));
    return issued.value.auth.clientToken;
  };
  return { mount, login, token };
}
