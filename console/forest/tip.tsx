import { approximate, counted } from "../format.ts";
import type { Area } from "./layout.ts";
import { treesIn } from "./map.ts";

interface TipProps {
  readonly area: Area;
  /** Of the map. */
  readonly width: number;
  readonly height: number;
}

const SIZE = { width: 260, height: 74 };

/** A box beside an area that says what it stands for. Screen readers read the area's own label. */
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
