import { href } from "../href.ts";
import { DeleteButton } from "../records/confirm.tsx";
import { noteDone } from "../records/done-notice.tsx";
import { secondsOf } from "../records/field.ts";
import { RecordForm } from "../records/record-form.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { type Loaded, Loading, useLoad } from "../ui/index.ts";
import { LostResources } from "./lost-resources.tsx";
import { type Organization, type Resource, resourceRequest, teamsPath, tokensPath } from "./resources.ts";
import { ORGANIZATION_SETTINGS, sentSettings, shownSettings, TTL_POLICY } from "./team-fields.ts";

interface OrganizationSettingsProps {
  readonly name: string;
  readonly organization: Loaded<Resource<Organization>>;
}

const MAX_TTL = "max-ttl-ms";

interface TtlPolicy {
  readonly "token-type": string;
  readonly [MAX_TTL]: number;
}

/** The settings of an organization, and its deletion. */
export function OrganizationSettings({ name, organization }: OrganizationSettingsProps) {
  const { api } = useSession();
  const path = teamsPath("organizations", name);
  const ttlPath = teamsPath("organizations", name, "token-ttl-policies");
  const ttl = useLoad(ttlPath, () => api.read<readonly Resource<TtlPolicy>[]>(ttlPath));
  const team = ttl.value?.find(({ attributes }) => attributes["token-type"] === "team");
  return (
    <section class="card" aria-label="Settings">
      <header>
        <h2>Settings</h2>
        <DeleteButton
          label="Delete the organization…"
          path={path}
          name={name}
          title={`Delete ${name}`}
          onDone={() => {
            noteDone(`${name} is deleted with its teams, and all their tokens are refused`, path);
            go(href(["teams"]), "replace");
          }}
        >
          <p>
            With it go <LostResources path={teamsPath("organizations", name, "teams")} noun="team" />, and{" "}
            <LostResources path={tokensPath(name)} noun="token" /> of these, and the tokens of the organization itself.
            All are refused from the answer on.
          </p>
        </DeleteButton>
      </header>
      <div class="body stack">
        {organization.value && (
          <RecordForm
            groups={ORGANIZATION_SETTINGS}
            record={shownSettings(organization.value.attributes)}
            action="Save"
            request={(values) => resourceRequest("PATCH", path, "organizations", sentSettings(values))}
            onSaved={organization.reload}
          />
        )}
        <Loading of={ttl} />
        {team && (
          <RecordForm
            groups={TTL_POLICY}
            record={{ [MAX_TTL]: team.attributes[MAX_TTL] / 1000 }}
            action="Save the lifetime"
            request={({ [MAX_TTL]: typed = "" }) =>
              resourceRequest("PATCH", ttlPath, "token-ttl-policies", {
                "token-ttl-policies": [{ "token-type": "team", [MAX_TTL]: secondsOf(String(typed)) * 1000 }],
              })
            }
            onSaved={ttl.reload}
          />
        )}
      </div>
    </section>
  );
}
