import { useState } from "preact/hooks";
import { refusalOfParts } from "../search/secret-in-address.ts";
import { useSession } from "../session.ts";

interface FindProps {
  readonly label: string;
  readonly onFind: (search: string) => void;
  readonly onPage: (page: number) => void;
}

/** A search in a list of the server. It starts at Enter, or when the field loses the focus. */
export function Find({ label, onFind, onPage }: FindProps) {
  const session = useSession();
  const [refusal, setRefusal] = useState("");
  const find = async (text: string): Promise<void> => {
    const found = await refusalOfParts(session, [text]);
    setRefusal(found);
    if (found !== "") return;
    onPage(1);
    onFind(text);
  };
  return (
    <div>
      <input
        type="search"
        class="find"
        placeholder={label}
        aria-label={label}
        onChange={(event) => find(event.currentTarget.value.trim())}
      />
      {refusal !== "" && (
        <p class="wrong" role="alert">
          {refusal}
        </p>
      )}
    </div>
  );
}
