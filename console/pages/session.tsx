import { useState } from "preact/hooks";
import type { Self } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { duration } from "../format.ts";
import { href } from "../href.ts";
import { PAGE_NEEDS } from "../nav.ts";
import { missingOf, needsOf } from "../needed-capabilities.ts";
import type { Problem } from "../result.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { RevokeToo } from "../sign-in/sign-out.tsx";
import {
  AllowedButton,
  Card,
  CopyButton,
  DataTable,
  End,
  Facts,
  Notice,
  PageHead,
  SendProblem,
  Tags,
} from "../ui/index.ts";

/** The capabilities that the pages of the navigation need, by path. */
const NEEDS = new Map(PAGE_NEEDS.map(([, needs]) => [needs[0], needs] as const));

/** The signed-in token, its capabilities and its end. */
export function SessionPage() {
  const session = useSession();
  const { self, capabilities, name, isOwn, renew } = session;
  const [revoking, setRevoking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [renewed, setRenewed] = useState(false);
  const policies = [...new Set([...self.policies, ...(self.identity_policies ?? [])])];

  const onRenew = async (): Promise<void> => {
    const answer = await renew();
    setRenewed(answer.ok);
    setProblem(answer.ok ? null : answer.problem);
  };

  return (
    <>
      <PageHead title="Your session">
        <AllowedButton
          look="button"
          needs={null}
          onClick={onRenew}
          idle={self.renewable ? "" : "it was made without being renewable"}
        >
          {self.renewable ? "Renew" : "Not renewable"}
        </AllowedButton>
        {!isOwn && (
          <AllowedButton
            look="button danger"
            needs={needsOf("auth/token/revoke-self")}
            onClick={() => setRevoking(true)}
          >
            Sign out and revoke…
          </AllowedButton>
        )}
        {revoking && <RevokeToo session={session} onDone={() => go(href([]))} onClose={() => setRevoking(false)} />}
      </PageHead>
      <div class="stack">
        <SendProblem problem={problem} />
        {renewed && !problem && <Notice tone="good" title="Renewed" />}
        <div class="columns">
          <Card title="Token">
            <Facts
              body
              rows={{
                Name: name,
                "Name of the token": self.display_name !== name && self.display_name,
                Policies: <Tags names={policies} most={20} />,
                Ends: <End at={self.expire_time} both />,
                "On signing out": isOwn
                  ? "it is revoked, with the tokens below it"
                  : "it stays valid, unless you revoke it",
                "Longest life": self.explicit_max_ttl > 0 && duration(self.explicit_max_ttl),
                "Made at": <code>{self.path}</code>,
                Type: self.type,
                Accessor: self.accessor === "" ? "none: only service tokens have one" : <OwnAccessor {...self} />,
                Entity: self.entity_id !== "" && <code>{self.entity_id}</code>,
              }}
            />
          </Card>
          <Card title="What you may do here">
            {!capabilities.of(ASKED_PATHS.tokens) && (
              <p class="body muted">The server did not answer this. Each page says what it refuses.</p>
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
                      if (refused) return <span class="tag warn">refused</span>;
                      const needs = NEEDS.get(path);
                      const missing = needs ? missingOf(needs, has) : [];
                      return (
                        <>
                          <Tags names={has} />
                          {missing.length > 0 && (
                            <span class="tag warn">its page needs {missing.join(" and ")} too</span>
                          )}
                        </>
                      );
                    },
                  },
                ]}
              />
            )}
          </Card>
        </div>
      </div>
    </>
  );
}

function OwnAccessor({ accessor }: Pick<Self, "accessor">) {
  return (
    <span class="accessor">
      <a class="mono break" href={href(["tokens", accessor])}>
        {accessor}
      </a>
      <CopyButton value={accessor} label="Copy the accessor" />
    </span>
  );
}
