interface FindProps {
  readonly label: string;
  readonly onFind: (search: string) => void;
  readonly onPage: (page: number) => void;
}

/** Searches a list of the server: what is typed counts from Enter on, or when the field is left. */
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
