import { version } from "../../package.json";

/** Characters of the build metadata of a semantic version. */
const METADATA = /^[0-9A-Za-z.-]+$/;

/**
 * Returns the version of Grove with the commit it was built from, `1.0.0-rc.1+fcd9c58a`, in the form of semantic
 * versioning. The commit is missing when `GROVE_COMMIT` is not set.
 */
export function groveVersion({ GROVE_COMMIT: commit }: { readonly GROVE_COMMIT?: string }): string {
  return commit && METADATA.test(commit) ? `${version}+${commit}` : version;
}
