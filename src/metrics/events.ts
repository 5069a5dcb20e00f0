/** Events that code counts where they happen, with the names of their labels. */
const EVENTS = {
  cloud_call: ["service", "result"],
  login: ["mount", "role", "result"],
  tokens_swept: [],
  sweep: [],
  lease_revocation: ["result"],
} as const;

/** Name of an event. */
export type EventName = keyof typeof EVENTS;

/** Number of times an event happened with one set of label values. */
export interface EventFigure {
  readonly labels: Readonly<Record<string, string>>;
  readonly count: number;
}

/** Maximum number of sets of label values of one event. Operators can create any number of mounts and roles. */
const MAX_SETS = 1000;
/** Label value for events beyond `MAX_SETS`. */
const OTHER = "other";

const counts = new Map<EventName, Map<string, number>>();

/** Counts events in this isolate. @param values of the labels, in the order of their names. */
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

/** Returns how often an event happened in this isolate, for each set of label values. */
export function eventFigures(event: EventName): EventFigure[] {
  return [...(counts.get(event) ?? [])].map(([key, count]) => {
    const values = key.split("\n");
    return { labels: Object.fromEntries(EVENTS[event].map((name, at) => [name, values[at] ?? ""])), count };
  });
}
