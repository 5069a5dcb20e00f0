import type { SealedTable } from "./sealed-table.ts";
import type { ValueRow } from "./sealed-values.ts";
import { storedJson } from "./stored-json.ts";

/** One value of a table of settings, whose rows have values of different types. */
export class Setting<T> {
  readonly #rows: SealedTable<ValueRow>;
  readonly #name: string;

  constructor(rows: SealedTable<ValueRow>, name: string) {
    this.#rows = rows;
    this.#name = name;
  }

  /** null when there is none, or when it was tampered with. */
  read(): T | null {
    const row = this.#rows.find(this.#name);
    return row && storedJson<T>(row.value);
  }

  /** True when there is a value that was tampered with. */
  get isTampered(): boolean {
    return this.read() === null && this.#rows.count("WHERE name = ?", this.#name) > 0;
  }

  write(value: T): void {
    this.#rows.put({ name: this.#name, value: JSON.stringify(value) });
  }

  /** Safe to repeat. */
  delete(): void {
    this.#rows.delete(this.#name);
  }
}
