import { useState } from "preact/hooks";
import { duration } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needs.ts";
import type { Problem } from "../result.ts";
import { ASKED_PATHS, useSession } from "../session.ts";
import { AllowedButton } from "../ui/allowed.tsx";
import { CopyButton, Tags } from "../ui/controls.tsx";
import { DataTable } from "../ui/data-table.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { End } from "../ui/time.tsx";

/** Who is signed in, what that one may do, and for how long. */
export function SessionPage() {
  const { self, capabilities, renew, signOut } = useSession();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [renewed, setRenewed] = useState(false);
  const policies = [...new Set([...self.policies, ...(self.identity_policies ?? [])])];

  const onRenew = async (): Promise<void> => {
    const answer = await renew();
    setRenewed(answer.ok);
    setProblem(answer.ok ? null : answer.problem);
  };

  const leave = async (options: { readonly revoke: boolean }): Promise<void> => {
    const answer = await signOut(options);
    if (!answer.ok) setProblem(answer.problem);
  };

  return (
    <>
      <PageHead title="Your session">
        <button type="button" class="button" onClick={onRenew} disabled={!self.renewable}>
          {self.renewable ? "Renew" : "Not renewable"}
        </button>
        <button type="button" class="button" onClick={() => leave({ revoke: false })}>
          Sign out
        </button>
        <AllowedButton
          look="button danger"
          needs={needsOf("auth/token/revoke-self")}
          onClick={() => leave({ revoke: true })}
        >
          Sign out and revoke
        </AllowedButton>
      </PageHead>
      <div class="stack">
        {problem && <ProblemNotice problem={problem} />}
        {renewed && !problem && <Notice tone="good" title="Renewed" />}
        <div class="columns">
          <section class="card" aria-labelledby="session-token">
            <header>
              <h2 id="session-token">Token</h2>
            </header>
            <dl class="facts body">
              <dt>Name</dt>
              <dd>{self.display_name || "none"}</dd>
              <dt>Policies</dt>
              <dd>
                <Tags names={policies} most={20} />
              </dd>
              <dt>Ends</dt>
              <dd>
                <End at={self.expire_time} both />
              </dd>
              {self.explicit_max_ttl > 0 && (
                <>
                  <dt>Longest life</dt>
                  <dd>{duration(self.explicit_max_ttl)}</dd>
                </>
              )}
              <dt>Made at</dt>
              <dd>
                <code>{self.path}</code>
              </dd>
              <dt>Type</dt>
              <dd>{self.type}</dd>
              <dt>Accessor</dt>
              <dd>
                {self.accessor === "" ? (
                  "none: only service tokens have one"
                ) : (
                  <span class="accessor">
                    <a class="mono break" href={href(["tokens", self.accessor])}>
                      {self.accessor}
                    </a>
                    <CopyButton value={self.accessor} label="Copy the accessor" />
                  </span>
                )}
              </dd>
              {self.entity_id !== "" && (
                <>
                  <dt>Entity</dt>
                  <dd>
                    <code>{self.entity_id}</code>
                  </dd>
                </>
              )}
            </dl>
          </section>
          <section class="card" aria-labelledby="session-rights">
            <header>
              <h2 id="session-rights">What you may do here</h2>
            </header>
            {!capabilities.of(ASKED_PATHS.tokens) && (
              <p class="body muted">Your policies refuse the question. Each page says what the server refuses.</p>
            )}
            {capabilities.of(ASKED_PATHS.tokens) && (
              <DataTable
                label="What you may do here"
                rows={Object.values(ASKED_PATHS)}
                keyOf={(path) => path}
                columns={[
                  { label: "Path", cell: (path) => <span class="mono">{path}</span> },
                  {
                    label: "Capabilities",
                    cell: (path) => {
                      const has = capabilities.of(path) ?? [];
                      const refused = has.length === 0 || has.includes("deny");
                      return refused ? <span class="tag warn">refused</span> : <Tags names={has} />;
                    },
                  },
                ]}
              />
            )}
          </section>
        </div>
      </div>
    </>
  );
}
