import { count, duration, exact } from "../format.ts";
import { Facts } from "../ui/index.ts";
import type { RecordValue } from "./field.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/** The fields of a record as the API answers them, without the empty ones. */
export function RecordFacts({ record }: { readonly record: RecordValue }) {
  const fields = Object.entries(record).filter(([, value]) => !isBlank(value));
  if (fields.length === 0) return <p class="muted">Nothing is set.</p>;
  return (
    <Facts rows={Object.fromEntries(fields.map(([name, value]) => [name.replaceAll("_", " "), shown(name, value)]))} />
  );
}

function isBlank(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === null || value === "" || value === 0 || value === false;
}

function shown(name: string, value: unknown): string {
  if (value === true) return "yes";
  if (typeof value === "number") return /ttl|period|leeway|interval/.test(name) ? duration(value) : count(value);
  if (typeof value === "string") return TIME.test(value) ? exact(value) : value;
  if (Array.isArray(value)) return value.map(String).join(", ");
  return JSON.stringify(value);
}
