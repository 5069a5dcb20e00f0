import { normalizeMountPath } from "../../../system/mount-path.ts";

const TUNE_SUFFIX = /\/tune$/;

/** Returns the path of the mount in the path of its settings, which ends with `/tune`. */
export function tunedPath(params: Readonly<Record<string, string>>): string {
  return normalizeMountPath((params.path ?? "").replace(TUNE_SUFFIX, ""));
}

/** Returns the path with the mount's path as it is stored, without its trailing slash. */
export function canonicalMountPath(path: string): string {
  return path.replace(/^(sys\/(?:auth|mounts(?:\/auth)?)\/)(.*)$/s, (_, place: string, below: string) => {
    const mount = normalizeMountPath(below.replace(TUNE_SUFFIX, ""));
    return place + (TUNE_SUFFIX.test(below) ? `${mount}tune` : mount.slice(0, -1));
  });
}
