import { OTHER_HUE } from "./colour.ts";

/** What the colours of a map mean. */
export function Legend({ palette }: { readonly palette: ReadonlyMap<string, string> }) {
  const named = [...palette].filter(([, hue]) => hue !== OTHER_HUE);
  return (
    <ul class="legend" aria-label="Colours">
      {named.map(([category, hue]) => (
        <li key={category}>
          <i class={hue} />
          {category}
        </li>
      ))}
      {palette.size > named.length && (
        <li>
          <i class={OTHER_HUE} />
          other
        </li>
      )}
    </ul>
  );
}
