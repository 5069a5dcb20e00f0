import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { useSession } from "../session.ts";
import { Empty, Loading, Pager, useLoad } from "../ui/index.ts";
import { listResources } from "./resource-api.ts";
import { type TeamToken, tokensPath } from "./resources.ts";
import { Find } from "./server-search.tsx";
import { TokenList } from "./token-list.tsx";

const SORTS = [
  ["team-name", "by team"],
  ["expired-at", "first to end"],
  ["-last-used-at", "last used"],
  ["created-by", "by who made it"],
] as const;

/** The tokens of all teams of an organization. */
export function OrganizationTokens({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const [page, setPage] = useState(1);
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState<string>(SORTS[0][0]);
  const path = tokensPath(organization);
  const list = useLoad(`${path} ${page} ${search} ${sort}`, () =>
    listResources<TeamToken>(api, path, page, { q: search, sort }),
  );
  return (
    <section class="card" aria-label="Tokens">
      <header>
        <Find label="Find by the name of the team" onFind={setSearch} onPage={setPage} />
        <div class="row">
          <select aria-label="Order" value={sort} onChange={(event) => setSort(event.currentTarget.value)}>
            {SORTS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          {list.value && <span class="muted number">{counted(list.value.total, "token")}</span>}
        </div>
      </header>
      <Loading of={list} />
      {list.value?.items.length === 0 && <Empty title="No tokens of teams" />}
      {list.value && <TokenList organization={organization} tokens={list.value.items} onChange={list.reload} />}
      {list.value && <Pager page={page} pages={list.value.pages} onPage={setPage} />}
    </section>
  );
}
