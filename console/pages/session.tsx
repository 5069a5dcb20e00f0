import { useState } from "preact/hooks";
import { duration } from "../format.ts";
import { href } from "../href.ts";
import type { Problem } from "../result.ts";
import { ASKED_PATHS, useSession } from "../session.ts";
import { Tags } from "../ui/controls.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Scroll } from "../ui/scroll.tsx";
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
        <button type="button" class="button danger" onClick={() => leave({ revoke: true })}>
          Sign out and revoke
        </button>
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
                  "none: batch tokens have no accessor"
                ) : (
                  <a class="mono" href={href(["tokens", self.accessor])}>
                    {self.accessor}
                  </a>
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
            {capabilities.size === 0 && (
              <p class="body muted">Your policies refuse the question. Each page says what the server refuses.</p>
            )}
            {capabilities.size > 0 && (
              <Scroll label="What you may do here">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Path</th>
                      <th scope="col">Capabilities</th>
                    </tr>
                  </thead>
                  <tbody>
                    {Object.values(ASKED_PATHS).map((path) => {
                      const has = capabilities.get(path) ?? [];
                      const refused = has.length === 0 || has.includes("deny");
                      return (
                        <tr key={path}>
                          <td class="mono">{path}</td>
                          <td>{refused ? <span class="tag warn">refused</span> : <Tags names={has} />}</td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              </Scroll>
            )}
          </section>
        </div>
      </div>
    </>
  );
}
