import { version } from "../../package.json";

/** What build metadata of a semantic version is made of. */
const METADATA = /^[0-9A-Za-z.-]+$/;

/**
 * The version of Grove with the commit it was built from, `1.0.0-rc.1+fcd9c58a`, in the form of semantic versioning. The commit is
 * missing when nothing set `GROVE_COMMIT`.
 */
export function groveVersion({ GROVE_COMMIT: commit }: { readonly GROVE_COMMIT?: string }): string {
  return commit && METADATA.test(commit) ? `${version}+${commit}` : version;
}
