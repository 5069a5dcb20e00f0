import { useState } from "preact/hooks";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { DataTable, Empty, Loading, Pager, Tags, Time, useLoad } from "../ui/index.ts";
import { listResources } from "./resource-api.ts";
import { type Resource, resourceRequest, type Team, teamsPath } from "./resources.ts";
import { Find } from "./server-search.tsx";
import { TEAM, TERRAFORM_TEAM } from "./team-fields.ts";

/** The teams of an organization. */
export function Teams({ organization }: { readonly organization: string }) {
  const { api } = useSession();
  const [page, setPage] = useState(1);
  const [search, setSearch] = useState("");
  const path = teamsPath("organizations", organization, "teams");
  const list = useLoad(`${path} ${page} ${search}`, () => listResources<Team>(api, path, page, { q: search }));
  return (
    <section class="card" aria-label="Teams">
      <header>
        <Find label="Find a team" onFind={setSearch} onPage={setPage} />
        {list.value && <span class="muted number">{counted(list.value.total, "team")}</span>}
      </header>
      <Loading of={list} />
      <DataTable
        empty={
          <Empty title={search === "" ? "No teams yet" : "No team has that in its name"}>
            <p>The tokens of a team have the policies of the team.</p>
          </Empty>
        }
        label="Teams"
        rows={list.value?.items}
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
      {list.value && <Pager page={page} pages={list.value.pages} onPage={setPage} />}
    </section>
  );
}

/** Makes a team. */
export function NewTeam({ organization }: { readonly organization: string }) {
  return (
    <section class="card form" aria-label="New team">
      <RecordForm
        groups={TEAM}
        record={null}
        action="Make the team"
        request={(values) =>
          resourceRequest("POST", teamsPath("organizations", organization, "teams"), "teams", values)
        }
        terraform={{ resource: TERRAFORM_TEAM, given: { organization } }}
        onSaved={(_, { id }: Resource<Team>) => go(href(["teams", organization, id]), "replace")}
      />
    </section>
  );
}
