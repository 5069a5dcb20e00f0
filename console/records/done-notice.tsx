import { useState } from "preact/hooks";
import { href, policyPathOf } from "../href.ts";
import { useSession } from "../session.ts";
import { Notice, Time } from "../ui/index.ts";

/** A deletion whose page is gone. */
interface Done {
  /** What was deleted, and what that ended. */
  readonly text: string;
  /** The endpoint that was asked. */
  readonly path: string;
  readonly at: string;
}

let last: Done | null = null;

/** Keeps a deletion for the notice of the page that is opened next. */
export function noteDone(text: string, path: string): void {
  last = { text, path, at: new Date().toISOString() };
}

/** Says once what the page before has deleted, by whom and when, with the way to the record of it. */
export function DoneNotice() {
  const { name } = useSession();
  const [done] = useState(() => {
    const before = last;
    last = null;
    return before;
  });
  if (!done) return null;
  return (
    <div class="done-notice">
      <Notice tone="good" title={done.text}>
        <p>
          By {name}, <Time at={done.at} both />.{" "}
          <a href={href(["audit"], { path: policyPathOf(done.path) })}>The request</a> is in the audit log.
        </p>
      </Notice>
    </div>
  );
}
