import { Notice } from "./notice.tsx";

/** The known values of a parameter: a list, or a predicate. */
type Known = readonly string[] | ((value: string) => boolean);

const isKnown = (known: Known, value: string): boolean =>
  typeof known === "function" ? known(value) : known.includes(value);

/** The parameters of the URL with unknown values. An empty value counts as absent. */
export const unknownIn = (query: URLSearchParams, known: Readonly<Record<string, Known>>): readonly string[] =>
  Object.entries(known)
    .filter(([name, values]) => (query.get(name) ?? "") !== "" && !isKnown(values, query.get(name) ?? ""))
    .map(([name]) => name);

/** A notice that the default view is shown because the URL has an unknown value, which is not repeated. */
export function UnknownValues({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  const list = names.map((name) => `“${name}”`).join(" and ");
  return (
    <div class="before">
      <Notice tone="warn" title={`The value of ${list} in the address is not known here`}>
        This is what the page shows without it.
      </Notice>
    </div>
  );
}
