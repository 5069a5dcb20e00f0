import { useState } from "preact/hooks";
import type { TokenSummary } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { CapabilityCheck } from "../policies/capability-check.tsx";
import { TokenRules } from "../policies/token-rules.tsx";
import { useSession } from "../session.ts";
import { GroupCount } from "../tokens/group-count.tsx";
import { AllowedLink, DataTable, Empty, Icon, IfAllowed, Loading, PageHead, useLoad } from "../ui/index.ts";

export function PoliciesPage({ query }: { readonly query: URLSearchParams }) {
  const accessor = query.get("accessor") ?? "";
  return accessor === "" ? <AllPolicies /> : <TokenRights key={accessor} accessor={accessor} />;
}

/** What a token may do: its rules, and beside them a check of one request. */
function TokenRights({ accessor }: { readonly accessor: string }) {
  return (
    <>
      <PageHead title="What may it do?" text={<a href={href(["tokens", accessor])}>The token</a>} />
      <div class="columns">
        <IfAllowed title="Its rules" needs={[["sys/explain/access", "create or update", "sudo"]]}>
          <TokenRules accessor={accessor} />
        </IfAllowed>
        <CapabilityCheck accessor={accessor} />
      </div>
    </>
  );
}

/** All policies, with their numbers of tokens. */
function AllPolicies() {
  const { api } = useSession();
  const names = useLoad("policies", () => api.list("sys/policies/acl"));
  const holders = useLoad("holders", () => api.read<TokenSummary>("sys/tokens/summary", { group_by: "policy" }));
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = (names.value ?? []).filter((name) => name.includes(wanted));

  return (
    <>
      <PageHead title="Policies">
        <AllowedLink
          look="button primary"
          needs={needsOf("sys/policies/acl/new")}
          isExample
          href={href(["policies"], { new: "1" })}
        >
          <Icon name="plus" /> New policy
        </AllowedLink>
      </PageHead>
      <Loading of={names} />
      <div class="columns">
        {names.value && (
          <section class="card" aria-label="Policies">
            <header>
              <input
                type="search"
                class="find"
                placeholder="Find a policy"
                aria-label="Find a policy"
                value={search}
                onInput={(event) => setSearch(event.currentTarget.value)}
              />
              <span class="muted number" aria-live="polite">
                {count(found.length)} of {counted(names.value.length, "policy", "policies")}
              </span>
            </header>
            <DataTable
              empty={<Empty title="No policy has that in its name" />}
              label="Policies"
              rows={found}
              keyOf={(name) => name}
              columns={[
                { label: "Name", cell: (name) => <a href={href(["policies", name])}>{name}</a> },
                {
                  label: "Tokens",
                  right: true,
                  cell: (name) => (
                    <GroupCount summary={holders.value} group={name} tokens={href(["tokens"], { policy: name })} />
                  ),
                },
              ]}
            />
          </section>
        )}
        <CapabilityCheck />
      </div>
    </>
  );
}
