import { useState } from "preact/hooks";
import { ASKED_PATHS } from "../asked-paths.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DoneNotice } from "../records/done-notice.tsx";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { mayDo, useSession } from "../session.ts";
import { listResources } from "../teams/resource-api.ts";
import { type Organization, resourceRequest, teamsPath } from "../teams/resources.ts";
import { NEW_ORGANIZATION } from "../teams/team-fields.ts";
import { AllowedLink, Card, DataTable, Empty, Icon, Loading, PageHead, Pager, Time, useLoad } from "../ui/index.ts";

/** All organizations. */
export function OrganizationsPage() {
  const session = useSession();
  const { api } = session;
  const [page, setPage] = useState(1);
  const list = useLoad(`organizations ${page}`, () =>
    listResources<Organization>(api, teamsPath("organizations"), page),
  );
  return (
    <>
      <PageHead title="Teams" text="Organizations, their teams, and the tokens of these.">
        <AllowedLink
          look="button primary"
          needs={needsOf(ASKED_PATHS.organizations)}
          href={href(["teams"], { new: "1" })}
        >
          <Icon name="plus" /> New organization
        </AllowedLink>
      </PageHead>
      <DoneNotice />
      <Loading of={list} />
      {list.value && (
        <Card
          title={
            <>
              Organizations <span class="muted number">{count(list.value.total)}</span>
            </>
          }
        >
          <DataTable
            empty={
              <Empty
                title={
                  mayDo(session, ASKED_PATHS.organizations, "read")
                    ? "No organizations yet"
                    : "No organizations that your policies let you see"
                }
              >
                <p>An organization holds teams; a team has tokens, as clients of Terraform use them.</p>
              </Empty>
            }
            label="Organizations"
            rows={list.value.items}
            keyOf={({ id }) => id}
            columns={[
              { label: "Name", cell: ({ id }) => <a href={href(["teams", id])}>{id}</a> },
              { label: "E-mail", cell: ({ attributes }) => attributes.email },
              { label: "Made", cell: ({ attributes }) => <Time at={attributes["created-at"]} /> },
            ]}
          />
          <Pager page={page} pages={list.value.pages} onPage={setPage} />
        </Card>
      )}
    </>
  );
}

export function NewOrganizationPage() {
  return (
    <>
      <PageHead title="New organization" />
      <div class="card form">
        <RecordForm
          groups={NEW_ORGANIZATION}
          record={null}
          action="Make the organization"
          request={(values) => resourceRequest("POST", teamsPath("organizations"), "organizations", values)}
          terraform={{ resource: { type: "tfe_organization" } }}
          onSaved={({ name }) => go(href(["teams", String(name)]), "replace")}
        />
      </div>
    </>
  );
}
