import { counted } from "../format.ts";
import { type DiffLine, diffOf, type Skipped, shortened } from "./diff.ts";

/** Most lines that are drawn. */
const DRAWN = 400;
const SIGNS = { same: " ", added: "+", removed: "−" } as const;

interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  readonly title?: string;
  /** Accessible name of the scrolling part. */
  readonly lines?: string;
}

/** The changes from one text to another, line by line. */
export function DiffView({ before, after, title = "Changes", lines: label = "Changed lines" }: DiffViewProps) {
  const lines = diffOf(before, after);
  const shown = shortened(lines);
  const added = lines.filter(({ kind }) => kind === "added").length;
  const removed = lines.filter(({ kind }) => kind === "removed").length;
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="small number">
          {counted(added, "line")} added, {counted(removed, "line")} removed
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it */}
      <section class="diff" tabIndex={0} aria-label={label}>
        {shown.slice(0, DRAWN).map((line, at) => (
          <Line key={at} line={line} />
        ))}
        {shown.length > DRAWN && <div class="skipped">{counted(shown.length - DRAWN, "more line")}</div>}
      </section>
    </section>
  );
}

function Line({ line }: { readonly line: DiffLine | Skipped }) {
  if (line.kind === "skipped") return <div class="skipped">{counted(line.lines, "line")} as before</div>;
  return (
    <div class={line.kind}>
      <span class="number" aria-hidden="true">
        {line.number}
      </span>
      <span aria-hidden="true">{SIGNS[line.kind]}</span>
      <code>
        {line.kind !== "same" && <span class="visually-hidden">{line.kind}: </span>}
        {line.text}
      </code>
    </div>
  );
}
