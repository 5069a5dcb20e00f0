import type { ComponentChildren } from "preact";
import { Scroll } from "./scroll.tsx";

/** One column of a table, with what it shows of a row. */
export interface DataColumn<T> {
  readonly label: string;
  readonly right?: boolean;
  /** True: the label is read, and not shown. */
  readonly isBare?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

interface DataTableProps<T> {
  /** What the rows are. */
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly DataColumn<T>[];
  readonly keyOf: (row: T) => string;
}

/** Rows of one kind. */
export function DataTable<T>({ label, rows, columns, keyOf }: DataTableProps<T>) {
  return (
    <Scroll label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ label: head, right, isBare }) => (
              <th key={head} scope="col" class={right ? "right" : undefined}>
                {isBare ? <span class="visually-hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ label: head, right, cell }) => (
                <td key={head} class={right ? "right" : "wide"}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
