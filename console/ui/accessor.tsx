import { shortAccessor } from "../format.ts";
import { CopyButton } from "./controls.tsx";

interface AccessorProps {
  readonly value: string;
  /** True where there is room for all of it. */
  readonly whole?: boolean;
}

/** An accessor with a button that copies it. Tokens of one tree have the same beginning: a short one shows its end. */
export function Accessor({ value, whole = false }: AccessorProps) {
  return (
    <span class="accessor">
      <code class={whole ? "break" : "muted"} title={value}>
        {whole ? value : shortAccessor(value)}
      </code>
      <CopyButton value={value} label={`Copy the accessor ${shortAccessor(value)}`} />
    </span>
  );
}
