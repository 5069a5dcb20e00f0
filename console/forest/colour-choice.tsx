import { Segments } from "../ui/index.ts";
import type { ColourBy } from "./area-category.ts";

const COLOURS: readonly (readonly [ColourBy, string])[] = [
  ["policy", "Policy"],
  ["end", "End"],
  ["method", "Method"],
];

export const colourOf = (text: string | null): ColourBy => COLOURS.find(([by]) => by === text)?.[0] ?? "policy";
export const isColour = (text: string): boolean => COLOURS.some(([by]) => by === text);

interface ColourChoiceProps {
  readonly colour: ColourBy;
  readonly onChange: (colour: ColourBy) => void;
}

/** The choice of a map's colours. */
export function ColourChoice({ colour, onChange }: ColourChoiceProps) {
  return <Segments legend="Colour by" options={COLOURS} value={colour} onChange={onChange} />;
}
