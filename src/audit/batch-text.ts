import type { AuditEntry } from "./entry.ts";

/** Maximum length of the text of one row. A reader of one record opens its whole row. */
const MAX_TEXT_LENGTH = 65_536;

/** The records of a batch in groups, each of which is a row. A group has at least one. */
export function rowGroups(entries: readonly AuditEntry[]): AuditEntry[][] {
  const groups: AuditEntry[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const size = entry.line.length + entry.mentions.join("").length;
    if (length + size > MAX_TEXT_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(entry);
    length += size;
  }
  return groups;
}

/** The line of a record as it is stored and counted in the chain: JSON without a line break. */
export function storedLine({ line }: Pick<AuditEntry, "line">): string {
  return line.replaceAll(/[\r\n]/g, " ");
}

/** The text of a row: two lines for each record, so that one is read without parsing the others. */
export function textOfRow(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${JSON.stringify([entry.at, ...entry.mentions])}\n${storedLine(entry)}`).join("\n");
}

/** Reads the records in the text of a row. Each is parsed when it is asked for. */
export class RowText {
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.#lines = text.split("\n");
  }

  get count(): number {
    return this.#lines.length / 2;
  }

  /** The lines of all records. */
  lines(): string[] {
    return this.#lines.filter((_, at) => at % 2 === 1);
  }

  /** The record at this place, from 0. @throws when there is none. */
  entry(place: number): AuditEntry {
    const [head, line] = [this.#lines[2 * place], this.#lines[2 * place + 1]];
    if (head === undefined || line === undefined) throw new Error("the row has no such record");
    const [at, ...mentions]: [number, ...string[]] = JSON.parse(head);
    return { at, line, mentions };
  }
}
