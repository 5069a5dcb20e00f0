import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { compact, counted } from "../format.ts";
import { isGoing } from "../tokens/going.ts";
import { type ColourBy, categoryOf, paletteOf } from "./colour.ts";
import { type Area, type Item, layOut } from "./map.ts";

interface TreemapProps {
  readonly items: readonly Item[];
  readonly by: ColourBy;
  readonly label: string;
  readonly onOpen: (item: Item) => void;
}

/** An area with less than this in a direction has no room for its name. */
const NAMED = { width: 46, height: 18 };

/** Until when (ms) a map that appears takes the focus: it was opened from an area of another one. */
let followUntil = 0;
const FOLLOW_MS = 5_000;

/** The map. One area has the focus; arrow keys go to the next one in their direction, Enter opens it. */
export function Treemap({ items, by, label, onOpen }: TreemapProps) {
  const frame = useRef<HTMLElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [current, setCurrent] = useState(0);
  const [shown, setShown] = useState<Area | null>(null);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: Math.floor(entry.contentRect.width), height: Math.floor(entry.contentRect.height) });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const now = useMemo(() => Date.now(), []);
  const areas = useMemo(
    () =>
      size.width === 0
        ? []
        : layOut(items, size.width, size.height).filter(({ width, height }) => width > 1 && height > 1),
    [items, size],
  );
  const leaves = useMemo(() => areas.filter(({ isFrame }) => !isFrame).map(({ item }) => item), [areas]);
  const palette = useMemo(() => paletteOf(leaves, by, now), [leaves, by, now]);
  const focused = Math.min(current, areas.length - 1);
  const open = (item: Item): void => {
    followUntil = performance.now() + FOLLOW_MS;
    onOpen(item);
  };
  const isDrawn = areas.length > 0;
  useEffect(() => {
    if (!isDrawn || performance.now() > followUntil) return;
    followUntil = 0;
    setCurrent(0);
    frame.current?.querySelector<HTMLElement>("[data-area]")?.focus();
  }, [isDrawn, label]);

  const move = (event: KeyboardEvent): void => {
    const from = areas[focused];
    if (!from) return;
    const next = neighbour(areas, from, event.key);
    if (next === -1) return;
    event.preventDefault();
    setCurrent(next);
    const element = frame.current?.querySelectorAll<HTMLElement>("[data-area]")[next];
    element?.focus();
  };

  return (
    <>
      <section class="treemap" ref={frame} aria-label={label} onKeyDown={move} onMouseLeave={() => setShown(null)}>
        {areas.map((area, at) => {
          const { item, x, y, width, height, isFrame } = area;
          const isNamed = width > NAMED.width && height > NAMED.height;
          const spoken = `${item.name}, ${counted(item.count, "token")}${isGoing(item.token) ? ", revoked" : ""}`;
          const hue = palette.get(categoryOf(item, by, now)) ?? "hue-rest";
          return (
            <button
              key={item.key}
              type="button"
              data-area
              tabIndex={at === focused ? 0 : -1}
              class={`${isFrame ? "frame" : hue}${isGoing(item.token) ? " going" : ""}`}
              style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }}
              aria-label={isNamed ? undefined : spoken}
              onClick={() => open(item)}
              onFocus={() => {
                setCurrent(at);
                setShown(area);
              }}
              onBlur={() => setShown(null)}
              onMouseEnter={() => setShown(area)}
            >
              {isNamed && (
                <span>
                  <b>{item.name}</b>{" "}
                  {width > 2 * NAMED.width && (
                    <i class="number" aria-hidden="true">
                      {compact(item.count)}
                    </i>
                  )}
                  <span class="visually-hidden">{spoken.slice(item.name.length)}</span>
                </span>
              )}
            </button>
          );
        })}
        {shown && <Tip area={shown} width={size.width} height={size.height} />}
      </section>
      {by !== "method" || palette.size > 1 ? <Legend palette={palette} /> : null}
    </>
  );
}

/** The nearest area whose middle lies in the direction of the key; -1 when there is none. */
function neighbour(areas: readonly Area[], from: Area, key: string): number {
  const middle = ({ x, y, width, height }: Area) => ({ x: x + width / 2, y: y + height / 2 });
  const start = middle(from);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [at, area] of areas.entries()) {
    const { x, y } = middle(area);
    const [along, across] =
      key === "ArrowRight"
        ? [x - start.x, y - start.y]
        : key === "ArrowLeft"
          ? [start.x - x, y - start.y]
          : key === "ArrowDown"
            ? [y - start.y, x - start.x]
            : key === "ArrowUp"
              ? [start.y - y, x - start.x]
              : [-1, 0];
    const distance = along + 3 * Math.abs(across);
    if (along > 0 && distance < least && area !== from) {
      least = distance;
      best = at;
    }
  }
  return best;
}

function Tip({ area, width, height }: { readonly area: Area; readonly width: number; readonly height: number }) {
  const { item } = area;
  const left = Math.min(area.x + 8, Math.max(0, width - 260));
  const below = area.y + Math.min(area.height, 28) + 6;
  const top = below > height - 70 ? Math.max(0, area.y - 70) : below;
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${top}px` }} aria-hidden="true">
      <strong>{item.name}</strong>
      <span class="number">{counted(item.count, "token")}</span>
      <span class="muted">
        {item.mount}
        {item.token && item.token.policies.length > 0 && ` · ${item.token.policies.slice(0, 4).join(", ")}`}
      </span>
    </div>
  );
}

function Legend({ palette }: { readonly palette: ReadonlyMap<string, string> }) {
  const named = [...palette].filter(([, hue]) => hue !== "hue-rest");
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
          <i class="hue-rest" />
          other
        </li>
      )}
    </ul>
  );
}
