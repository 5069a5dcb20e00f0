import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { DoneNotice } from "../records/done-notice.tsx";
import { useSession } from "../session.ts";
import { OrganizationSettings } from "../teams/organization-settings.tsx";
import { OrganizationTokens } from "../teams/organization-tokens.tsx";
import { OwnTokens } from "../teams/own-tokens.tsx";
import { readResource } from "../teams/resource-api.ts";
import { type Organization, teamsPath } from "../teams/resources.ts";
import { NewTeam, Teams } from "../teams/team-list.tsx";
import { Webhooks } from "../teams/webhooks.tsx";
import { AllowedLink, Icon, Loading, PageHead, Tabs, UnknownValues, unknownIn, useLoad } from "../ui/index.ts";

const PARTS = [
  ["teams", "Teams"],
  ["tokens", "Tokens"],
  ["settings", "Settings"],
  ["webhooks", "Webhooks"],
] as const;

/** One organization: its teams, the tokens of its teams and its own, and its settings. */
export function OrganizationPage({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const { api } = useSession();
  const organization = useLoad(name, () => readResource<Organization>(api, teamsPath("organizations", name)));
  const part = PARTS.find(([at]) => at === query.get("part"))?.[0] ?? "teams";
  return (
    <>
      <PageHead title={name} text={<a href={href(["teams"])}>All organizations</a>}>
        {part === "teams" && (
          <AllowedLink
            look="button primary"
            needs={needsOf(teamsPath("organizations", name, "teams"))}
            href={href(["teams", name], { part: "teams", new: "1" })}
          >
            <Icon name="plus" /> New team
          </AllowedLink>
        )}
      </PageHead>
      <DoneNotice />
      <Loading of={organization} />
      {organization.value && (
        <>
          <Tabs
            label="Parts of the organization"
            current={part}
            tabs={PARTS.map(([at, title]) => ({ name: at, title, href: href(["teams", name], { part: at }) }))}
          />
          <UnknownValues names={unknownIn(query, { part: PARTS.map(([at]) => at) })} />
          {part === "teams" && (query.has("new") ? <NewTeam organization={name} /> : <Teams organization={name} />)}
          {part === "tokens" && (
            <div class="stack">
              <OrganizationTokens organization={name} />
              <OwnTokens organization={name} />
            </div>
          )}
          {part === "settings" && <OrganizationSettings name={name} organization={organization} />}
          {part === "webhooks" && <Webhooks organization={name} />}
        </>
      )}
    </>
  );
}
