import { compact } from "../format.ts";
import type { Bar } from "./bar.ts";
import { roundTop } from "./chart-scale.ts";

/** Smallest height of a bar that is not 0, so that it stays visible. */
const LEAST_PERCENT = 1.5;

/** A histogram whose bars are links. Screen readers read their sentences. */
export function Bars({ bars }: { readonly bars: readonly Bar[] }) {
  const most = roundTop(Math.max(1, ...bars.map(({ value }) => value)));
  return (
    <div class="bars">
      <div class="bars-scale number" aria-hidden="true">
        <span>{compact(most)}</span>
        <span>{most > 1 ? compact(Math.round(most / 2)) : ""}</span>
        <span>0</span>
      </div>
      <ul class="bars-plot">
        {bars.map(({ key, value, label, text, href, parts }) => (
          <li key={key} class={label === "" ? undefined : "labelled"}>
            {value === 0 ? (
              <span class="bar none" title={text} />
            ) : (
              <a class="bar" href={href} title={text} aria-label={text}>
                <span style={{ height: `${Math.max(LEAST_PERCENT, (100 * value) / most)}%` }}>
                  {parts.map(({ hue, value: part }, at) => (
                    <i key={`${hue} ${at}`} class={hue} style={{ flexGrow: String(part) }} />
                  ))}
                </span>
              </a>
            )}
            <span class="bar-label" aria-hidden="true">
              {label}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
