import { useState } from "preact/hooks";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { CapabilityCheck } from "../policies/capability-check.tsx";
import { useSession } from "../session.ts";
import { Empty } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Scroll } from "../ui/scroll.tsx";
import { useLoad } from "../ui/use-load.ts";
import type { Summary } from "./ends.tsx";

/** All policies, with how many tokens have each. */
export function PoliciesPage() {
  const { api } = useSession();
  const names = useLoad("policies", () => api.list("sys/policies/acl"));
  const holders = useLoad("holders", () => api.read<Summary>("sys/tokens/summary", { group_by: "policy" }));
  const [search, setSearch] = useState("");
  const counts = new Map(holders.value?.groups.map(({ key, count: tokens }) => [key, tokens] as const));
  const found = (names.value ?? []).filter((name) => name.includes(search.toLowerCase()));

  return (
    <>
      <PageHead title="Policies">
        <a class="button primary" href={href(["policies"], { new: "1" })}>
          <Icon name="plus" /> New policy
        </a>
      </PageHead>
      {names.problem && <ProblemNotice problem={names.problem} onRetry={names.reload} />}
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
                {count(found.length)} of {count(names.value.length)}
              </span>
            </header>
            {found.length === 0 ? (
              <Empty title="No policy has that in its name" />
            ) : (
              <Scroll label="Policies">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col" class="right">
                        Tokens
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {found.map((name) => (
                      <tr key={name}>
                        <td class="wide">
                          <a href={href(["policies", name])}>{name}</a>
                        </td>
                        <td class="right">
                          {holders.value === null ? (
                            <span class="muted" title="Your policies refuse the inventory">
                              –
                            </span>
                          ) : (
                            <a href={href(["tokens"], { policy: name })}>{count(counts.get(name) ?? 0)}</a>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )}
          </section>
        )}
        <CapabilityCheck />
      </div>
    </>
  );
}
