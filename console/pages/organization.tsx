import { useState } from "preact/hooks";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { Confirm } from "../records/confirm.tsx";
import { secondsOf } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { ORGANIZATION_SETTINGS, sentSettings, shownSettings, TEAM, TTL_POLICY } from "../teams/forms.ts";
import {
  listResources,
  type Organization,
  type Resource,
  readResource,
  sendResource,
  type Team,
  type TeamToken,
  teamsPath,
} from "../teams/resources.ts";
import { TokenList } from "../teams/token-list.tsx";
import { Webhooks } from "../teams/webhooks.tsx";
import { Empty, Tags } from "../ui/controls.tsx";
import { DataTable } from "../ui/data-table.tsx";
import { Icon } from "../ui/icons.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Pager } from "../ui/pager.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Time } from "../ui/time.tsx";
import { type Loaded, useLoad } from "../ui/use-load.ts";

const PARTS = [
  ["teams", "Teams"],
  ["tokens", "Tokens"],
  ["settings", "Settings"],
  ["webhooks", "Webhooks"],
] as const;

/** One organization: its teams, the tokens of all of them, and its settings. */
export function OrganizationPage({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const { api } = useSession();
  const organization = useLoad(name, () => readResource<Organization>(api, teamsPath("organizations", name)));
  const part = query.get("part") ?? "teams";
  return (
    <>
      <PageHead title={name} text={<a href={href(["teams"])}>All organizations</a>}>
        {part === "teams" && (
          <a class="button primary" href={href(["teams", name], { part: "teams", new: "1" })}>
            <Icon name="plus" /> New team
          </a>
        )}
      </PageHead>
      {organization.problem && <ProblemNotice problem={organization.problem} onRetry={organization.reload} />}
      {organization.value && (
        <>
          <Tabs
            label="Parts of the organization"
            current={part}
            tabs={PARTS.map(([at, title]) => ({ name: at, title, href: href(["teams", name], { part: at }) }))}
          />
          {part === "teams" && (query.has("new") ? <NewTeam organization={name} /> : <Teams organization={name} />)}
          {part === "tokens" && <Tokens organization={name} />}
          {part === "settings" && <Settings name={name} organization={organization} />}
          {part === "webhooks" && <Webhooks organization={name} />}
        </>
      )}
    </>
  );
}

function Teams({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const [page, setPage] = useState(1);
  const [search, setSearch] = useState("");
  const path = teamsPath("organizations", organization, "teams");
  const list = useLoad(`${path} ${page} ${search}`, () => listResources<Team>(api, path, page, { q: search }));
  return (
    <section class="card" aria-label="Teams">
      <header>
        <Find label="Find a team" onFind={setSearch} onPage={setPage} />
        {list.value && <span class="muted number">{count(list.value.total)}</span>}
      </header>
      {list.problem && <ProblemNotice problem={list.problem} onRetry={list.reload} />}
      {list.value?.items.length === 0 && (
        <Empty title={search === "" ? "No teams yet" : "No team has that in its name"}>
          <p>The tokens of a team have the policies of the team.</p>
        </Empty>
      )}
      {list.value && list.value.items.length > 0 && (
        <DataTable
          rows={list.value.items}
          keyOf={({ id }) => id}
          columns={[
            {
              label: "Name",
              cell: ({ id, attributes }) => <a href={href(["teams", organization, id])}>{attributes.name}</a>,
            },
            {
              label: "Policies of its tokens",
              cell: ({ attributes }) => <Tags names={attributes["token-policies"]} most={4} />,
            },
            { label: "Visibility", cell: ({ attributes }) => attributes.visibility },
            { label: "Made", cell: ({ attributes }) => <Time at={attributes["created-at"]} /> },
          ]}
        />
      )}
      {list.value && <Pager page={page} pages={list.value.pages} onPage={setPage} />}
    </section>
  );
}

function NewTeam({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  return (
    <section class="card form" aria-label="New team">
      <RecordForm
        groups={TEAM}
        record={null}
        action="Make the team"
        send={(body) =>
          sendResource<Team>(api, "POST", teamsPath("organizations", organization, "teams"), "teams", body)
        }
        onSaved={(_, { id }) => go(href(["teams", organization, id]), "replace")}
      />
    </section>
  );
}

interface FindProps {
  readonly label: string;
  readonly onFind: (search: string) => void;
  readonly onPage: (page: number) => void;
}

function Find({ label, onFind, onPage }: FindProps) {
  return (
    <input
      type="search"
      class="find"
      placeholder={label}
      aria-label={label}
      onChange={(event) => {
        onPage(1);
        onFind(event.currentTarget.value.trim());
      }}
    />
  );
}

const SORTS = [
  ["team-name", "by team"],
  ["expired-at", "first to end"],
  ["-last-used-at", "last used"],
  ["created-by", "by who made it"],
] as const;

function Tokens({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const [page, setPage] = useState(1);
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState<string>(SORTS[0][0]);
  const path = teamsPath("organizations", organization, "team-tokens");
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
          {list.value && <span class="muted number">{count(list.value.total)}</span>}
        </div>
      </header>
      {list.problem && <ProblemNotice problem={list.problem} onRetry={list.reload} />}
      {list.value?.items.length === 0 && <Empty title="No tokens of teams" />}
      {list.value && list.value.items.length > 0 && (
        <TokenList organization={organization} tokens={list.value.items} onChange={list.reload} />
      )}
      {list.value && <Pager page={page} pages={list.value.pages} onPage={setPage} />}
    </section>
  );
}

interface SettingsProps {
  readonly name: string;
  readonly organization: Loaded<Resource<Organization>>;
}

interface TtlPolicy {
  readonly "token-type": string;
  readonly "max-ttl-ms": number;
}

function Settings({ name, organization }: SettingsProps) {
  const { api } = useSession();
  const [asking, setAsking] = useState(false);
  const path = teamsPath("organizations", name);
  const ttlPath = teamsPath("organizations", name, "token-ttl-policies");
  const ttl = useLoad(ttlPath, () => api.read<readonly Resource<TtlPolicy>[]>(ttlPath));
  const team = ttl.value?.find(({ attributes }) => attributes["token-type"] === "team");
  return (
    <section class="card" aria-label="Settings">
      <header>
        <h2>Settings</h2>
        <button type="button" class="button slim danger" onClick={() => setAsking(true)}>
          Delete the organization…
        </button>
      </header>
      <div class="body stack">
        {organization.value && (
          <RecordForm
            groups={ORGANIZATION_SETTINGS}
            record={shownSettings(organization.value.attributes)}
            action="Save"
            send={(body) => sendResource(api, "PATCH", path, "organizations", sentSettings(body))}
            onSaved={organization.reload}
          />
        )}
        {ttl.problem && <ProblemNotice problem={ttl.problem} onRetry={ttl.reload} />}
        {team && (
          <RecordForm
            groups={TTL_POLICY}
            record={{ team: team.attributes["max-ttl-ms"] / 1000 }}
            action="Save the lifetime"
            send={({ team: typed }) =>
              sendResource(api, "PATCH", ttlPath, "token-ttl-policies", {
                "token-ttl-policies": [{ "token-type": "team", "max-ttl-ms": secondsOf(String(typed)) * 1000 }],
              })
            }
            onSaved={ttl.reload}
          />
        )}
      </div>
      {asking && (
        <Confirm
          title={`Delete ${name}`}
          typing={name}
          action="Delete"
          send={() => api.call(path, { method: "DELETE" })}
          onDone={() => go(href(["teams"]), "replace")}
          onClose={() => setAsking(false)}
        >
          <p>All its teams go with it, and all of their tokens are refused from the answer on.</p>
        </Confirm>
      )}
    </section>
  );
}
