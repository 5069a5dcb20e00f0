import type { ComponentChildren } from "preact";

/** One column of a table, with what it shows of a row. */
export interface DataColumn<T> {
  readonly label: string;
  readonly right?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

interface DataTableProps<T> {
  readonly rows: readonly T[];
  readonly columns: readonly DataColumn<T>[];
  readonly keyOf: (row: T) => string;
}

/** Rows of one kind. */
export function DataTable<T>({ rows, columns, keyOf }: DataTableProps<T>) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {columns.map(({ label, right }) => (
              <th key={label} scope="col" class={right ? "right" : undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ label, right, cell }) => (
                <td key={label} class={right ? "right" : "wide"}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
