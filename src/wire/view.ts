import type { Shape } from "./shape.ts";

/** A field of an answer: its shape, and how its value is read. A value that is undefined is left out. */
type ViewField<T> = readonly [shape: Shape, read: (thing: T) => unknown];

/** Fields by name, in the order of the answer. The name of one that can be left out ends in `?`. */
export type ViewFields<T> = { readonly [name: string]: ViewField<T> };

/** What answers show of a thing, and the shape that describes it. */
export interface View<T> {
  readonly shape: { readonly [name: string]: Shape };
  readonly show: (thing: T) => Record<string, unknown>;
}

/** Declares what answers show of a thing. As both are made of one table, its description has no other names than its answers. */
export function view<T>(fields: ViewFields<T>): View<T> {
  const entries = Object.entries(fields);
  const readers = entries.map(([name, [, read]]) => [name.replace(/\?$/, ""), read] as const);
  return {
    shape: Object.fromEntries(entries.map(([name, [shape]]) => [name, shape])),
    show(thing) {
      const shown: Record<string, unknown> = {};
      for (const [name, read] of readers) {
        const value = read(thing);
        if (value !== undefined) shown[name] = value;
      }
      return shown;
    },
  };
}

/** The fields of what belongs to a thing, for a view that shows them among its own. */
export function fieldsOf<T, P>(part: (thing: T) => P, fields: ViewFields<P>): ViewFields<T> {
  const entries = Object.entries(fields).map(([name, [shape, read]]): [string, ViewField<T>] => [
    name,
    [shape, (thing) => read(part(thing))],
  ]);
  return Object.fromEntries(entries);
}

/** An object inside of a view. */
export function inner<T>(fields: ViewFields<T>): ViewField<T> {
  const { shape, show } = view(fields);
  return [shape, show];
}
