import type { ComponentChildren } from "preact";
import { count, duration, shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { Tags } from "../ui/controls.tsx";
import { End, Time } from "../ui/time.tsx";
import { nameOf, type Token } from "./model.ts";

export interface Column {
  readonly name: string;
  readonly label: string;
  readonly right?: boolean;
  /** The word by which the API sorts. */
  readonly sort?: string;
  cell(token: Token): ComponentChildren;
}

const NONE = <span class="muted">–</span>;

/** All columns; the first is always shown. */
export const COLUMNS: readonly Column[] = [
  {
    name: "name",
    label: "Token",
    cell: (token) => (
      <a href={href(["tokens", token.accessor])} title={nameOf(token)}>
        {nameOf(token)}
      </a>
    ),
  },
  {
    name: "accessor",
    label: "Accessor",
    cell: ({ accessor }) => (
      <code class="muted" title={accessor}>
        {shortAccessor(accessor)}
      </code>
    ),
  },
  { name: "policies", label: "Policies", cell: ({ policies }) => <Tags names={policies} most={3} /> },
  { name: "mount", label: "Method", cell: ({ mount }) => <span class="mono">{mount}</span> },
  { name: "role", label: "Role", cell: ({ role }) => role || NONE },
  { name: "path", label: "Path", cell: ({ path }) => <span class="mono">{path}</span> },
  { name: "entity", label: "Entity", cell: ({ entity_id }) => (entity_id ? <code>{entity_id}</code> : NONE) },
  { name: "created", label: "Created", sort: "created", cell: ({ created }) => <Time at={created} /> },
  { name: "ends", label: "Ends", sort: "end", cell: ({ expires }) => <End at={expires} /> },
  { name: "used", label: "Last used", cell: ({ last_used }) => (last_used ? <Time at={last_used} /> : NONE) },
  { name: "uses", label: "Uses left", right: true, cell: ({ uses_left }) => (uses_left ? count(uses_left) : NONE) },
  { name: "period", label: "Period", right: true, cell: ({ period }) => (period ? duration(period) : NONE) },
  { name: "children", label: "Children", right: true, cell: ({ children }) => (children ? count(children) : NONE) },
];

const USUAL = ["accessor", "policies", "mount", "role", "created", "ends", "children"];

/** The columns that the query names; the usual ones when it names none. */
export function shownColumns(query: URLSearchParams): readonly Column[] {
  const named = query.get("columns")?.split(",") ?? USUAL;
  return COLUMNS.filter(({ name }, at) => at === 0 || named.includes(name));
}
