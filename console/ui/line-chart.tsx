import type { ChartPoint } from "./chart-point.ts";

export interface Line {
  readonly name: string;
  readonly points: readonly ChartPoint[];
}

interface LineChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Text that is shown until there is a line. */
  readonly waiting: string;
}

const WIDTH = 300;
const HEIGHT = 72;

/** A small line chart over time. The last values are also text, for screen readers. */
export function LineChart({ title, lines, format, waiting }: LineChartProps) {
  const times = lines.flatMap(({ points }) => points.map(({ at }) => at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const values = lines.flatMap(({ points }) => points.flatMap(({ value }) => (value === null ? [] : [value])));
  const most = Math.max(...values, Number.MIN_VALUE);
  const place = ({ at, value }: ChartPoint): string =>
    `${((WIDTH * (at - first)) / Math.max(1, last - first)).toFixed(1)},${(HEIGHT - 2 - ((HEIGHT - 6) * (value ?? 0)) / most).toFixed(1)}`;
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      {first >= last && <p class="small muted">{waiting}</p>}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {lines.map(({ name, points }, at) =>
          unbroken(points).map((part) => (
            <polyline key={`${name} ${part[0]?.at}`} class={`line-${at}`} points={part.map(place).join(" ")} />
          )),
        )}
      </svg>
      <dl class="chart-values">
        {lines.map(({ name, points }, at) => {
          const value = points.findLast((point) => point.value !== null)?.value ?? null;
          return (
            <div key={name}>
              <dt>
                <i class={`line-${at}`} />
                {name}
              </dt>
              <dd class="number">{value === null ? "–" : format(value)}</dd>
            </div>
          );
        })}
        <div>
          <dt>highest</dt>
          <dd class="number muted">{values.length === 0 ? "–" : format(Math.max(...values))}</dd>
        </div>
      </dl>
    </figure>
  );
}

/** Runs of points with a value. */
function unbroken(points: readonly ChartPoint[]): ChartPoint[][] {
  const runs: ChartPoint[][] = [[]];
  for (const point of points) {
    if (point.value === null) runs.push([]);
    else runs.at(-1)?.push(point);
  }
  return runs.filter((run) => run.length > 0);
}
