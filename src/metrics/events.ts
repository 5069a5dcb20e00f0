/** Events that are counted where they happen, with the names of their labels. */
const EVENTS = {
  cloud_call: ["service", "result"],
  login: ["mount", "role", "result"],
  tokens_swept: [],
  sweep: [],
  lease_revocation: ["result"],
} as const;

/** A kind of event. */
export type EventName = keyof typeof EVENTS;

/** How often an event happened with one set of labels. */
export interface EventFigure {
  readonly labels: Readonly<Record<string, string>>;
  readonly count: number;
}

/** Sets of labels of one event: mounts and roles are as many as operators write. */
const MAX_SETS = 1000;
/** Stands for labels beyond that. */
const OTHER = "other";

const counts = new Map<EventName, Map<string, number>>();

/** Counts events in this isolate. `values` of the labels, in the order of their names. */
export function countEvent(event: EventName, values: readonly string[], times = 1): void {
  let sets = counts.get(event);
  if (!sets) {
    sets = new Map();
    counts.set(event, sets);
  }
  const named = values.join("\n");
  const key = sets.has(named) || sets.size < MAX_SETS ? named : values.map(() => OTHER).join("\n");
  sets.set(key, (sets.get(key) ?? 0) + times);
}

/** How often an event happened in this isolate. */
export function eventFigures(event: EventName): EventFigure[] {
  return [...(counts.get(event) ?? [])].map(([key, count]) => {
    const values = key.split("\n");
    return { labels: Object.fromEntries(EVENTS[event].map((name, at) => [name, values[at] ?? ""])), count };
  });
}
