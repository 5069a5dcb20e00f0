import type { Receipt } from "../../client/answers.d.ts";
import { DocsPage } from "../docs-page.tsx";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { Notice } from "../ui/index.ts";

/** Most tokens that are named. */
const SHOWN = 20;

/** The tokens that a revocation could not end, and why. */
export function NotEndedNotice({ receipt: { numbers, not_ended: named } }: { readonly receipt: Receipt }) {
  const others = numbers.not_ended - Math.min(named.length, SHOWN);
  return (
    <Notice tone="bad" title={`${counted(numbers.not_ended, "token")} that matched did not end, nor what is below`}>
      {named.slice(0, SHOWN).map(({ accessor, cause }) => (
        <p key={accessor}>
          <a class="mono" href={href(["tokens", accessor])}>
            {accessor}
          </a>
          : {cause}
        </p>
      ))}
      {others > 0 && <p>and {count(others)} others</p>}
      <p>
        Mend the cause (<DocsPage page="docs/runbook.md#a-job-is-incomplete" />
        ), then contain what is left again.
      </p>
    </Notice>
  );
}
