import { homepage, version } from "../package.json";

/**
 * A link to a page of the docs, in the sources of this release. Its text is the path, by which readers without access to
 * the site find the page in a copy of the sources.
 *
 * @param page as `docs/runbook.md#the-disk-is-full`
 */
export function DocsPage({ page }: { readonly page: string }) {
  return (
    <a class="mono" href={`${homepage}/blob/v${version}/${page}`} target="_blank" rel="noopener noreferrer">
      {page}
    </a>
  );
}
