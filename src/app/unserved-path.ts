import { unservedPath } from "../wire/audit.ts";
import type { AppContext } from "./context.ts";

/** The path of a request that no endpoint serves, for the log. */
export function unservedPathOf(c: AppContext): string {
  const { path } = c.get("head");
  // One that can't be decoded could hold a token in a spelling that nothing here knows.
  if (!path.ok) return "<malformed>";
  const loaded = c.get("installation");
  const below = loaded.ok && path.value.startsWith("auth/") ? path.value.slice("auth/".length) : null;
  const mount = loaded.ok && below !== null ? loaded.value.mountServing(below) : undefined;
  return unservedPath(path.value, mount && `auth/${mount.path}`);
}
