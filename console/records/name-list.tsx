import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format.ts";
import { Card, Empty, type Loaded } from "../ui/index.ts";

/** Most names that are shown; the search finds the others. */
const DRAWN = 200;
/** Longer lists have a search. */
const SHORT = 12;

interface NameListProps {
  readonly title: string;
  readonly names: Loaded<readonly string[]>;
  readonly current: string;
  readonly placeOf: (name: string) => string;
  /** A display name beside the name; "" for none. */
  readonly knownAs?: (name: string) => string;
  readonly empty: { readonly title: string; readonly text: string };
  /** Content beside a name. */
  readonly beside?: ((name: string) => ComponentChildren) | undefined;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/** Names of one kind as links; a long list has a search. */
export function NameList({
  title,
  names,
  current,
  placeOf,
  knownAs = () => "",
  empty,
  beside,
  children,
}: NameListProps) {
  const [search, setSearch] = useState("");
  const shown = (name: string): string => knownAs(name) || name;
  // By what people read: a generated name is in no order that they know.
  const all = [...(names.value ?? [])].sort((a, b) => shown(a).localeCompare(shown(b)));
  const wanted = search.trim().toLowerCase();
  const found = all.filter((name) => `${name}\n${knownAs(name)}`.toLowerCase().includes(wanted));
  return (
    <Card
      of={names}
      title={
        <>
          {title} {names.value && <span class="muted number">{count(all.length)}</span>}
        </>
      }
      beside={<div class="row">{children}</div>}
    >
      {names.value && all.length > SHORT && (
        <div class="body">
          <input
            type="search"
            placeholder="Find by name"
            aria-label={`Find in ${title.toLowerCase()}`}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </div>
      )}
      {names.value && all.length === 0 && (
        <Empty title={empty.title}>
          <p>{empty.text}</p>
        </Empty>
      )}
      {all.length > 0 && found.length === 0 && <Empty title="No name has that in it" />}
      {found.length > 0 && (
        <ul class="names">
          {found.slice(0, DRAWN).map((name) => (
            <li key={name} class={beside ? "beside" : undefined}>
              <a class="break" href={placeOf(name)} aria-current={name === current ? "true" : undefined}>
                <NameAndMore name={name} known={knownAs(name)} />
              </a>
              {beside?.(name)}
            </li>
          ))}
        </ul>
      )}
      {found.length > DRAWN && (
        <p class="body small muted">The first {count(DRAWN)} are shown: type a part of the name.</p>
      )}
    </Card>
  );
}

/** The display name comes first. */
function NameAndMore({ name, known }: { readonly name: string; readonly known: string }) {
  if (known === "" || known === name) return <>{name}</>;
  return (
    <>
      {known} <span class="small muted">{name}</span>
    </>
  );
}
