/** Paths below an auth mount where a client logs in or takes a step of a login. A test compares them with the routes. */
export const LOGIN_PATHS: readonly string[] = ["login", "oidc/auth_url", "oidc/callback", "oidc/poll"];

/** True for the path of a login. @param mount path of its mount, such as `auth/ci/`. */
export function isLoginPath(path: string, mount: string): boolean {
  return mount.startsWith("auth/") && path.startsWith(mount) && LOGIN_PATHS.includes(path.slice(mount.length));
}
