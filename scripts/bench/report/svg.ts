/** Colours that can be told apart by most eyes, on white and on dark pages. */
const COLOURS = ["#3b76c4", "#d1762a", "#3a9a5c", "#a4508f", "#8a7a2e", "#c24b4b"];
const TEXT = "#7a7a7a";
const FRAME = "#b8b8b8";
const WIDTH = 760;
const LABEL_WIDTH = 250;
const ROW_HEIGHT = 30;

/** A bar with its value and, if there is one, the mark that it should reach. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly target?: number;
}

/** Horizontal bars with a thin line from the least to the greatest measurement, and a mark for each target. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(0.001, ...bars.flatMap(({ max, target }) => [max, target ?? 0]));
  const scale = (value: number) => (value / most) * (WIDTH - LABEL_WIDTH - 70);
  const rows = bars.map(({ label, value, min, max, target }, index) => {
    const y = 40 + index * ROW_HEIGHT;
    const middle = y + ROW_HEIGHT / 2;
    const from = LABEL_WIDTH + scale(min);
    const mark = target === undefined ? "" : targetMark(LABEL_WIDTH + scale(target), y);
    return (
      text(LABEL_WIDTH - 8, middle + 4, label, "end") +
      `<rect x="${LABEL_WIDTH}" y="${y + 6}" width="${fixed(scale(value))}" height="${ROW_HEIGHT - 12}" fill="${COLOURS[0]}"/>` +
      `<path d="M${fixed(from)} ${middle}H${fixed(LABEL_WIDTH + scale(max))}" stroke="#222" stroke-width="1.5"/>` +
      mark +
      text(LABEL_WIDTH + scale(max) + 8, middle + 4, value.toFixed(2), "start")
    );
  });
  return document(title, 52 + bars.length * ROW_HEIGHT, rows.join(""));
}

/** A line of a chart: points from left to right. */
export interface Line {
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** What the axes of a line chart say. */
export interface Axes {
  readonly x: string;
  readonly y: string;
  /** True to show x by its powers of ten. */
  readonly logarithmic?: boolean;
}

const CHART = { left: 64, right: WIDTH - 190, top: 46, bottom: 290 };

/** Lines over a common axis that begins at 0, with a legend. */
export function lineChart(title: string, axes: Axes, lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const place = (x: number) => (axes.logarithmic ? Math.log10(Math.max(x, 1)) : x);
  const xs = points.map(({ x }) => place(x));
  const [least, most] = [Math.min(...xs), Math.max(...xs)];
  const top = Math.max(0.001, ...points.map(({ y }) => y)) * 1.1;
  const toX = (x: number) => {
    const share = most === least ? 0.5 : (place(x) - least) / (most - least);
    return CHART.left + share * (CHART.right - CHART.left);
  };
  const toY = (y: number) => CHART.bottom - (y / top) * (CHART.bottom - CHART.top);
  const drawn = lines.map((line, index) => {
    const colour = COLOURS[index % COLOURS.length] ?? TEXT;
    const path = line.points.map(({ x, y }) => `${fixed(toX(x))} ${fixed(toY(y))}`).join("L");
    const dots = line.points.length > 30 ? [] : line.points;
    return (
      `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2"/>` +
      dots.map(({ x, y }) => `<circle cx="${fixed(toX(x))}" cy="${fixed(toY(y))}" r="3" fill="${colour}"/>`).join("") +
      `<rect x="${CHART.right + 16}" y="${CHART.top + index * 20}" width="10" height="10" fill="${colour}"/>` +
      text(CHART.right + 32, CHART.top + 9 + index * 20, line.label, "start")
    );
  });
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = fixed(toY((top / 1.1) * share));
    return (
      `<path d="M${CHART.left} ${y}H${CHART.right}" stroke="${FRAME}" stroke-width="0.5"/>` +
      text(CHART.left - 6, Number(y) + 4, short((top / 1.1) * share), "end")
    );
  });
  const ends = [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
  const marks = ends.length <= 6 ? ends : [ends[0] ?? 0, ends.at(-1) ?? 0];
  const below = marks.map((x) => text(toX(x), CHART.bottom + 18, x.toLocaleString("en-US"), "middle"));
  const names =
    text((CHART.left + CHART.right) / 2, CHART.bottom + 38, axes.x, "middle") +
    text(8, CHART.top - 12, axes.y, "start");
  return document(title, CHART.bottom + 50, grid.join("") + below.join("") + drawn.join("") + names);
}

function document(title: string, height: number, content: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">` +
    `<title>${escaped(title)}</title>${text(8, 18, title, "start", 'font-size="14" font-weight="bold"')}${content}</svg>\n`
  );
}

function text(x: number, y: number, content: string, anchor: "start" | "middle" | "end", more = ""): string {
  const place = `x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="${TEXT}"`;
  return `<text ${place}${more === "" ? "" : ` ${more}`}>${escaped(content)}</text>`;
}

function targetMark(x: number, y: number): string {
  return `<path d="M${fixed(x)} ${y + 2}V${y + ROW_HEIGHT - 2}" stroke="${COLOURS[5]}" stroke-width="2" stroke-dasharray="3 2"/>`;
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(2);
}

function fixed(value: number): string {
  return value.toFixed(1);
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
