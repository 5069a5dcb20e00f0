import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { approximate, compact, counted } from "../format.ts";
import { go } from "../router.ts";
import { DIFFERS_BY } from "../tokens/distinct-names.ts";
import { type ColourBy, categoryOf, paletteOf } from "./area-category.ts";
import { OTHER_HUE } from "./category-hues.ts";
import { goes, type Item, treesIn } from "./token-map.ts";
import { type Area, layOut, neighbour } from "./treemap-layout.ts";

interface TreemapProps {
  readonly items: readonly Item[];
  readonly by: ColourBy;
  readonly label: string;
}

/** The smallest area (px) with room for a name, and for a name and a number. */
const NAMED = { width: 38, height: 18 };
const COUNTED = { width: 38, height: 42 };
const LINE = 15;
/** The least width (px) at which a name is wrapped: in a narrower area it would break within a word. */
const WRAPPED_WIDTH = 90;
/** The smallest width (px) for the unit of the number, and for the number of trees. */
const UNIT_WIDTH = 76;
const TREES_WIDTH = 150;

/** Time (ms) until which a new map takes the focus, because it was opened from an area of the previous map. */
let followUntil = 0;
const FOLLOW_MS = 5_000;

/**
 * The map. One area has the focus; arrow keys move to the next area in their direction, Enter opens it. There are hundreds of
 * areas, so they are rendered only when the map changes, and each kind of event has one listener for all areas.
 */
export function Treemap({ items, by, label }: TreemapProps) {
  const frame = useRef<HTMLElement>(null);
  const size = useSize(frame);
  const [pointedAt, setPointedAt] = useState<Area | null>(null);
  const now = useMemo(() => Date.now(), []);
  const areas = useMemo(() => (size.width === 0 ? [] : layOut(items, size.width, size.height)), [items, size]);
  const palette = useMemo(() => {
    const leaves = areas.filter(({ isFrame }) => !isFrame).map(({ item }) => item);
    return paletteOf(leaves, by, now);
  }, [areas, by, now]);
  const drawn = useMemo(
    () => areas.map((area, at) => drawArea(area, at, palette.get(categoryOf(area.item, by, now)) ?? OTHER_HUE)),
    [areas, palette, by, now],
  );
  // The area of a previous map is not in this map.
  const shown = pointedAt && areas.includes(pointedAt) ? pointedAt : null;
  const isMoving = useMemo(() => areas.some(({ item }) => goes(item)), [areas]);

  const elementAt = (at: number) => frame.current?.querySelector<HTMLElement>(`[data-area="${at}"]`);
  const placeOf = ({ target }: Event): number => {
    const element = target instanceof Element ? target.closest<HTMLElement>("[data-area]") : null;
    return element ? Number(element.dataset.area) : -1;
  };
  /** Makes an area the tab stop. */
  const keepTabStop = (at: number): void => {
    for (const element of frame.current?.querySelectorAll<HTMLElement>("[data-area][tabindex='0']") ?? []) {
      element.tabIndex = -1;
    }
    const element = elementAt(at);
    if (element) element.tabIndex = 0;
  };

  useLayoutEffect(() => {
    const focused = document.activeElement;
    const isInside = focused instanceof HTMLElement && frame.current?.contains(focused);
    keepTabStop(isInside ? Number(focused.dataset.area) : 0);
  }, [areas]);
  const isDrawn = areas.length > 0;
  useEffect(() => {
    if (!isDrawn || performance.now() > followUntil) return;
    followUntil = 0;
    elementAt(0)?.focus();
  }, [isDrawn, label]);

  const open = (event: MouseEvent): void => {
    const area = areas[placeOf(event)];
    if (!area) return;
    followUntil = performance.now() + FOLLOW_MS;
    go(area.item.opens);
  };
  const move = (event: KeyboardEvent): void => {
    const from = areas[placeOf(event)];
    const next = from ? neighbour(areas, from, event.key) : -1;
    if (next === -1) return;
    event.preventDefault();
    elementAt(next)?.focus();
  };
  const point = (event: MouseEvent): void => {
    const area = areas[placeOf(event)];
    if (area) setPointedAt(area);
  };
  const focus = (event: FocusEvent): void => {
    const at = placeOf(event);
    // The area that had the focus is gone.
    if (at === -1) {
      elementAt(0)?.focus();
      return;
    }
    keepTabStop(at);
    // A mouse press also moves the focus, just before the click opens the area.
    if (elementAt(at)?.matches(":focus-visible")) setPointedAt(areas[at] ?? null);
  };

  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithMouseEvents: the focus of an area bubbles to onFocusIn and not to onFocus */}
      <section
        class={isMoving ? "treemap moving" : "treemap"}
        ref={frame}
        aria-label={label}
        onClick={open}
        onKeyDown={move}
        onMouseOver={point}
        onMouseLeave={() => setPointedAt(null)}
        onFocusIn={focus}
        onFocusOut={() => setPointedAt(null)}
      >
        {drawn}
        {shown && <Tip area={shown} width={size.width} height={size.height} />}
      </section>
      <Legend palette={palette} />
    </>
  );
}

/** The size of the map on the screen (px). */
function useSize(frame: { readonly current: HTMLElement | null }) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  // Before the first paint, so that it has areas.
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame]);
  return size;
}

function drawArea({ item, x, y, width, height, isFrame }: Area, at: number, hue: string) {
  const isNamed = width > NAMED.width && height > NAMED.height;
  const isCounted = isFrame || (width > COUNTED.width && height > COUNTED.height);
  const isGone = goes(item);
  const label = labelOf(item);
  const trees = isOfMethod(item, isFrame)
    ? " in its trees"
    : item.joined
      ? ` in ${counted(treesIn(item), "tree")}`
      : "";
  const spoken = `, ${approximate(item.count, "token", item.rest?.estimated)}${trees}${isGone ? ", revoked" : ""}`;
  // The name gets the lines that the number does not need.
  const lines =
    isFrame || width < WRAPPED_WIDTH ? 1 : Math.max(1, Math.floor((height - 6) / LINE) - (isCounted ? 1 : 0));
  const shown = labelOf(item, (width - 10) * lines);
  return (
    <button
      key={item.key}
      type="button"
      data-area={at}
      tabIndex={-1}
      class={`${isFrame ? "frame" : hue}${isGone ? " going" : ""}`}
      style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }}
      aria-label={isNamed ? undefined : label + spoken}
    >
      {isNamed && <b style={lines > 1 ? { "-webkit-line-clamp": String(lines) } : ONE_LINE}>{shown}</b>}
      {isNamed && isCounted && (
        <i class="number" aria-hidden="true">
          {numberOf(item, isFrame ? Number.POSITIVE_INFINITY : width, isOfMethod(item, isFrame))}
        </i>
      )}
      {isNamed && <span class="visually-hidden">{spoken}</span>}
    </button>
  );
}

/** True for the frame of an auth method: its trees can have tokens that other methods made. */
const isOfMethod = ({ token }: Item, isFrame: boolean): boolean => isFrame && token === null;

/** The number of tokens of an area, with its unit if there is room. */
function numberOf(item: Item, width: number, isMethod: boolean): string {
  const { count, rest, joined } = item;
  const number = `${rest?.estimated ? "≈ " : ""}${compact(count)}`;
  if (width < UNIT_WIDTH) return number;
  const tokens = `${number} ${count === 1 ? "token" : "tokens"}`;
  if (isMethod) return `${tokens} in its trees`;
  const trees = joined && width >= TREES_WIDTH ? ` in ${counted(treesIn(item), "tree")}` : "";
  return `${tokens}${trees}`;
}

/** The style sheet ends the last of several lines with dots; a single line is cut at the end of the area. */
const ONE_LINE = { display: "block", whiteSpace: "nowrap", textOverflow: "ellipsis" };

/** Width of a character of a name (px), about. */
const CHARACTER = 7;

/**
 * The name of an item, which the style sheet cuts at its end. From a name that is too long, the part that several tokens
 * share is left out, or the name of the method at its beginning if the remaining text fits. Dots mark the gap.
 */
function labelOf({ name, mount, token, joined }: Item, room = Number.POSITIVE_INFINITY): string {
  if ((!token && !joined) || name.length * CHARACTER <= room) return name;
  const [, difference] = name.split(DIFFERS_BY);
  if (difference !== undefined) return difference.startsWith("…") ? difference : `…${difference}`;
  const hasRoom = (rest: string): boolean => rest.length * CHARACTER <= room;
  const prefix = `${mount.replace(/^auth\/|\/$/g, "").replaceAll("/", "-")}-`;
  const rest = `…${name.slice(prefix.length)}`;
  return name.startsWith(prefix) && name.length > prefix.length && hasRoom(rest) ? rest : name;
}

/** The legend of a map's colours. */
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

interface TipProps {
  readonly area: Area;
  /** Size of the map. */
  readonly width: number;
  readonly height: number;
}

const SIZE = { width: 260, height: 74 };

/** A tooltip beside an area. Screen readers read the area's own label. */
export function Tip({ area, width, height }: TipProps) {
  const { item } = area;
  const left = Math.min(area.x + 8, Math.max(0, width - SIZE.width));
  const below = area.y + Math.min(area.height, 28) + 6;
  const top = below > height - SIZE.height ? Math.max(0, area.y - SIZE.height) : below;
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${top}px` }} aria-hidden="true">
      <strong>{item.name}</strong>
      <span class="number">{approximate(item.count, "token", item.rest?.estimated)}</span>
      <span class="muted">
        {item.mount}
        {item.joined && ` · ${counted(treesIn(item), "tree")}`}
        {item.token && item.token.policies.length > 0 && ` · ${item.token.policies.slice(0, 4).join(", ")}`}
      </span>
    </div>
  );
}
