import { Notice } from "./notice.tsx";

/** The values that a page knows of a name in its address: a list, or a rule. */
type Known = readonly string[] | ((value: string) => boolean);

const isKnown = (known: Known, value: string): boolean =>
  typeof known === "function" ? known(value) : known.includes(value);

/** The names in the address of a page whose value the page does not know; one that is empty is as good as absent. */
export const unknownIn = (query: URLSearchParams, known: Readonly<Record<string, Known>>): readonly string[] =>
  Object.entries(known)
    .filter(([name, values]) => (query.get(name) ?? "") !== "" && !isKnown(values, query.get(name) ?? ""))
    .map(([name]) => name);

/** Says that the usual view is shown because the address has an unknown value, which is not repeated. */
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
