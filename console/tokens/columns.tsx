import type { ComponentChildren } from "preact";
import type { Token } from "../../client/answers.d.ts";
import { count, duration } from "../format.ts";
import { href } from "../href.ts";
import { Accessor, End, Menu, Time } from "../ui/index.ts";
import { EntityLink, Metadata, MethodLink, Policies, RoleLink } from "./links.tsx";
import { detailText, namedAncestor, nameOf } from "./token-name.ts";
import { usualColumns } from "./usual-columns.ts";

export interface Column {
  readonly name: string;
  readonly label: string;
  readonly right?: boolean;
  /** The API's name of this sort order. */
  readonly sort?: string;
  /**
   * @param known the tokens of the list, by accessor
   * @param mark tells it from others that look the same; "" where nothing does, or another column shows it
   */
  cell(token: Token, known: ReadonlyMap<string, Token>, mark: string): ComponentChildren;
}

const NONE = <span class="muted">–</span>;

function Name({ token, mark }: { readonly token: Token; readonly mark: string }) {
  return (
    <a href={href(["tokens", token.accessor])} title={nameOf(token)}>
      {nameOf(token)}
      {mark !== "" && <span class="small mono"> {mark}</span>}
    </a>
  );
}

/** The name with details below it, for a window without room for the metadata column. */
const NAME_AND_DETAIL: Column = {
  name: "name",
  label: "Token",
  cell: (token, known, mark) => (
    <>
      <Name token={token} mark={mark} />
      <div class="muted small ellipsis">{detailText(token, namedAncestor(token, known))}</div>
    </>
  ),
};

/** True when each row has a second line with metadata. */
export const haveSecondLine = ([first]: readonly Column[]): boolean => first === NAME_AND_DETAIL;

/** All columns; the first is always shown. */
const COLUMNS: readonly Column[] = [
  {
    name: "name",
    label: "Token",
    cell: (token, known, mark) => {
      const above = namedAncestor(token, known);
      return (
        <>
          <Name token={token} mark={mark} /> {above !== "" && <span class="small">below {above}</span>}
        </>
      );
    },
  },
  {
    name: "accessor",
    label: "Accessor",
    cell: ({ accessor }) => <Accessor value={accessor} />,
  },
  { name: "policies", label: "Policies", cell: ({ policies }) => <Policies names={policies} most={3} /> },
  {
    name: "metadata",
    label: "Metadata",
    cell: ({ metadata }) => (Object.keys(metadata).length > 0 ? <Metadata pairs={metadata} most={2} /> : NONE),
  },
  { name: "mount", label: "Method", cell: ({ mount }) => <MethodLink mount={mount} /> },
  { name: "role", label: "Role", cell: ({ mount, role }) => (role ? <RoleLink mount={mount} role={role} /> : NONE) },
  { name: "path", label: "Path", cell: ({ path }) => <span class="mono">{path}</span> },
  {
    name: "entity",
    label: "Entity",
    cell: ({ entity_id: id }) => (id ? <EntityLink id={id} /> : NONE),
  },
  { name: "created", label: "Created", sort: "created", cell: ({ created }) => <Time at={created} /> },
  { name: "ends", label: "Ends", sort: "end", cell: ({ expires }) => <End at={expires} /> },
  { name: "used", label: "Last used", cell: ({ last_used }) => (last_used ? <Time at={last_used} /> : NONE) },
  { name: "uses", label: "Uses left", right: true, cell: ({ uses_left }) => (uses_left ? count(uses_left) : NONE) },
  { name: "period", label: "Period", right: true, cell: ({ period }) => (period ? duration(period) : NONE) },
  { name: "children", label: "Children", right: true, cell: ({ children }) => (children ? count(children) : NONE) },
];

/** True for a list of known columns. */
export const areColumns = (list: string): boolean =>
  list.split(",").every((one) => COLUMNS.some(({ name }) => name === one));

/** The columns in the query, or the default columns. @param windowWidth px */
export function shownColumns(query: URLSearchParams, windowWidth: number): readonly Column[] {
  const chosen = query.get("columns")?.split(",");
  const named = chosen ?? usualColumns(windowWidth);
  const [, ...others] = COLUMNS;
  const [first] = chosen || named.includes("metadata") ? COLUMNS : [NAME_AND_DETAIL];
  return [...(first ? [first] : []), ...others.filter(({ name }) => named.includes(name))];
}

interface ColumnChoiceProps {
  readonly shown: readonly Column[];
  readonly onChange: (names: string[]) => void;
}

/** A menu of the columns. */
export function ColumnChoice(props: ColumnChoiceProps) {
  const shown = props.shown.map(({ name }) => name);
  return (
    <Menu title="Columns">
      {COLUMNS.slice(1).map(({ name, label }) => (
        <label key={name} class="check">
          <input
            type="checkbox"
            checked={shown.includes(name)}
            onChange={() =>
              props.onChange(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name])
            }
          />
          {label}
        </label>
      ))}
    </Menu>
  );
}
