import { useState } from "preact/hooks";
import type { SessionState } from "../session.ts";
import { farewellAfter } from "../sign-in/farewell.ts";
import { SignInForm } from "../sign-in/form.tsx";
import { Icon, Notice } from "../ui/index.ts";

/** The page shown without a session. */
export function SignIn({ state: { ended, signIn } }: { readonly state: SessionState }) {
  const [hasFailed, setHasFailed] = useState(false);
  const said = farewellAfter(ended, hasFailed);
  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <div class="sign-in-column">
        <div>
          <h1 class="brand">
            <Icon name="forest" size={26} />
            Grove
          </h1>
          <p class="small muted break">{window.location.host}</p>
        </div>
        {said && <Notice tone={said.tone} title={said.text} />}
        <div class="card">
          <SignInForm signIn={signIn} onFailed={() => setHasFailed(true)} />
        </div>
        <p class="small muted">Your session is in the memory of this page alone: a reload ends it.</p>
      </div>
    </main>
  );
}
