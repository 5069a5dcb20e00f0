interface FindProps {
  readonly label: string;
  readonly onFind: (search: string) => void;
  readonly onPage: (page: number) => void;
}

/** A search in a list of the server. It starts at Enter, or when the field loses the focus. */
export function Find({ label, onFind, onPage }: FindProps) {
  return (
    <input
      type="search"
      class="find"
      placeholder={label}
      aria-label={label}
      onChange={(event) => {
        onPage(1);
        onFind(event.currentTarget.value.trim());
      }}
    />
  );
}
